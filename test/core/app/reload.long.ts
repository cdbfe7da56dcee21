import { ReloadedService, reloadUnderLoad } from './reloading.js';

describe('20 reloads at 500 requests per second', function () {
  this.timeout(600_000);
  let service: ReloadedService;
  afterEach(() => service.remove());

  it('fail no request, although 5 configurations are broken', async () => {
    service = await ReloadedService.start(2);
    await reloadUnderLoad(service, { perSecond: 500, reloads: 20, brokenEvery: 4 });
  });
});

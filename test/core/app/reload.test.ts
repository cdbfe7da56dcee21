import { expect } from 'chai';
import { request } from '../../support/http-client.js';
import { freePort } from '../../support/server-process.js';
import { childrenOf } from '../../support/spawned-service.js';
import { until } from '../../support/until.js';
import { ReloadedService, reloadUnderLoad } from './reloading.js';

describe('metro-forecast reload', function () {
  this.timeout(120_000);
  let service: ReloadedService;
  afterEach(() => service.remove());

  it('with workers replaces them under load without a failed request, and keeps them after every kind of error', async () => {
    service = await ReloadedService.start(2);
    await reloadUnderLoad(service, { perSecond: 100, reloads: 8, brokenEvery: 2 });
    await until(() => childrenOf(service.pid).length <= 3);
    expect(await service.stop()).to.deep.equal([0, null]);
    expect(service.log).to.not.contain('a worker exited');
  });

  it('with workers moves the service to another port, and refuses another host on the same port', async () => {
    service = await ReloadedService.start(2);
    await service.configure({ server: { host: '127.0.0.2' } });
    expect((await service.reload()).text).to.contain('server.host: a change needs a restart');
    expect(await service.isReady()).to.equal(true);
    const port = await freePort();
    await service.configure({ server: { port } });
    expect((await service.reload()).code).to.equal(0);
    expect(await service.isReady(port)).to.equal(true);
    await until(async () => !(await service.isReady()));
  });

  it('with workers moves the metrics to another host on the same port, and back after an error', async () => {
    const port = await freePort();
    service = await ReloadedService.start(2);
    const metricsOn = async (host: string) =>
      (await request(`http://${host}:${port}/metrics`).catch(() => undefined))?.status;
    await service.configure({ metrics: { host: '0.0.0.0', port } });
    expect((await service.reload()).code).to.equal(0);
    await service.configure({ metrics: { host: '127.0.0.1', port } });
    expect(await service.reload()).to.deep.equal({ code: 0, text: 'Reloaded.\n' });
    expect([await metricsOn('127.0.0.1'), await metricsOn('127.0.0.2')]).to.deep.equal([200, undefined]);
    await service.configure({ metrics: { host: '192.0.2.1', port } });
    expect((await service.reload()).text).to.contain('this machine has no address 192.0.2.1');
    expect(await metricsOn('127.0.0.1')).to.equal(200);
  });

  it('with workers refuses to give their port to the metrics, which keep a port chosen by the system', async () => {
    service = await ReloadedService.start(2);
    const isServed = async (url: string) => (await request(url).catch(() => undefined))?.status === 200;
    const log = { level: 'info' };
    await service.configure({ log });
    expect((await service.reload()).code).to.equal(0);
    await service.configure({ log, metrics: { port: 0 } });
    expect((await service.reload()).code).to.equal(0);
    const [, metricsUrl] = await until(() => /"metricsUrl":"([^"]+)"/.exec(service.log) ?? undefined);
    expect(await isServed(metricsUrl!)).to.equal(true);
    const server = { port: Number(new URL(metricsUrl!).port) };
    await service.configure({ server, metrics: { port: service.port } });
    expect((await service.reload()).text).to.contain(
      `metrics.port: ${service.port} is the port of the running workers. To use it for metrics, restart the service.`,
    );
    expect([await service.isReady(), await isServed(metricsUrl!)]).to.deep.equal([true, true]);
  });

  it('ends although the system clock was set back', async () => {
    const shifted = new URL('../../support/shifted-clock.js', import.meta.url);
    service = await ReloadedService.start(1, async () => {
      return { NODE_OPTIONS: `--import=${shifted}`, CLOCK_SHIFT_MS: '-3600000' };
    });
    expect((await service.reload()).code).to.equal(0);
  });

  it('with one process names the settings that need a restart', async () => {
    service = await ReloadedService.start(1);
    await service.configure({ limits: { requestsPerMinute: 7 }, server: { workers: 1, maxHeaders: 50 } });
    expect(await service.reload()).to.deep.equal({
      code: 0,
      text: 'The configuration was reloaded. These changes need a restart: server.maxHeaders.\n',
    });
    expect(await service.limit()).to.equal(7);
    await service.configure({ limits: { requestsPerMinute: 'many' } });
    const { code, text } = await service.reload();
    expect([code, text]).to.satisfy(() => code === 1 && text.includes('"many" is not allowed'));
    expect(await service.limit()).to.equal(7);
  });
});

import { expect } from 'chai';
import { MemoryCache } from '../../../core/cache/memory-cache.js';
import { type ServiceRoute, type ServiceState, serviceRoute } from '../../../core/contracts/plugin.js';
import { systemClock } from '../../../core/contracts/runtime.js';
import { serviceResponses } from '../../../core/routes/service-response.js';

const stateRoute = (handler: () => Promise<object>): ServiceRoute =>
  serviceRoute({
    path: '/state',
    operationId: 'getState',
    summary: 'The state',
    sharedSeconds: 60,
    response: { description: 'The state.', schema: { type: 'object' }, example: {} },
    handler,
  }) as ServiceRoute;
const state = { read: () => ({}) as ServiceState };

describe('sharedResponse()', () => {
  it('builds, hashes and compresses a response once per second, even if the handler is not called again', async () => {
    let [now, calls] = [1_000_000, 0];
    const clock = { now: () => now, monotonic: () => now };
    const cache = new MemoryCache({ clock });
    const { sharedResponse } = serviceResponses({ publicUrlOf: () => '', cache, clock, state });
    const route = stateRoute(async () => ({ calls: ++calls, text: 'x'.repeat(2000) }));
    const read = () => sharedResponse('/state', route);
    const first = await read();
    await first.encoding('br');
    now += 999;
    expect(await read()).to.equal(first);
    now += 1;
    const second = await read();
    expect(second.identity.head).to.match(/Cache-Control: public, max-age=59\r\nAge: 1\r\n/);
    expect([second.identity.etag, calls]).to.deep.equal([first.identity.etag, 1]);
    now += 59_000;
    const third = await read();
    expect(third.identity.head).to.include('Age: 0');
    expect([third.identity.etag === first.identity.etag, calls]).to.deep.equal([false, 2]);
  });

  it('rejects with a 503 if the handler does not end, and calls it again for the next request', async function () {
    this.timeout(20_000);
    const cache = new MemoryCache();
    const { sharedResponse } = serviceResponses({ publicUrlOf: () => '', cache, clock: systemClock, state });
    let calls = 0;
    const route = stateRoute(() => (++calls === 1 ? new Promise<object>(() => undefined) : Promise.resolve({})));
    const [first] = await Promise.allSettled([sharedResponse('/state', route)]);
    expect(first).to.have.nested.property('reason.kind.code', 'service_unavailable');
    expect((await sharedResponse('/state', route)).identity.status).to.equal(200);
  });
});

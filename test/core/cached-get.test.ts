/**
 * A developer who traces a cached GET has to read every file that it executes. This test limits the number of files.
 */
import { Agent } from 'node:http';
import { Session } from 'node:inspector/promises';
import { sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { request } from '../support/http-client.js';
import { redisForTests, uniqueName } from '../support/services.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

const core = fileURLToPath(new URL('../../core/', import.meta.url));

const calledFiles = async (session: Session): Promise<string[]> => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url, functions }) => url.startsWith('file:') && functions.some(({ ranges }) => ranges[0]!.count > 0))
    .map(({ url }) => fileURLToPath(url))
    .filter((file) => file.startsWith(core))
    .map((file) => file.slice(core.length).replaceAll(sep, '/').replace(/\.js$/, '.ts'))
    .sort();
};

/** Returns the files that every call of `work` executes. During some calls, timers also execute other files. */
const filesOf = async (work: () => Promise<unknown>, pauseMs: number): Promise<string[]> => {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    let files: string[] | undefined;
    for (let i = 0; i < 6; i++) {
      await delay(pauseMs);
      await calledFiles(session);
      await work();
      await delay(10); // allows for work after the response, such as logging
      const called = await calledFiles(session);
      files = files?.filter((file) => called.includes(file)) ?? called;
    }
    return files!;
  } finally {
    session.disconnect();
  }
};

describe('a cached GET with the json adapter and Redis', () => {
  let service: TestApp;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = async (): Promise<void> => {
    const { status } = await request(`${service.url}/markets`, {
      agent,
      headers: { Authorization: `Bearer ${service.key}` },
    });
    expect(status).to.equal(200);
  };

  before(async () => {
    const { url } = await redisForTests();
    service = await startTestApp({
      config: {
        adapter: { use: 'json', options: { path: 'dataset', pollMs: 60_000 } },
        redis: { url, keyPrefix: `${uniqueName('cached-get')}:` },
        log: { level: 'info' },
        metrics: { port: 0 },
      },
    });
    await get();
  });
  after(async () => {
    agent.destroy();
    await service?.close();
  });

  it('executes functions in at most 25 files of core, with a prefetched permit', async () => {
    // Prefetching needs several requests within one second, so the test waits for the start of a second.
    await delay(1000 - (Date.now() % 1000));
    for (let i = 0; i < 10; i++) await get();
    const files = await filesOf(get, 0);
    expect(files).to.include('limiter/redis-limiter.ts').and.not.to.include('limiter/calls.ts');
    expect(files, files.join('\n')).to.have.length.at.most(25);
  });

  it('executes functions in at most 28 files of core, with a call to Redis', async () => {
    // Prefetched permits expire within a second, so each request calls Redis.
    const files = await filesOf(get, 1100);
    expect(files).to.include('limiter/calls.ts');
    expect(files, files.join('\n')).to.have.length.at.most(28);
  });
});

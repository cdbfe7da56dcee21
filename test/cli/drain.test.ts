import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';
import { commandArgs } from '../support/command-process.js';
import { request as requestOnce } from '../support/http-client.js';
import { until } from '../support/until.js';

interface Service {
  readonly process: ChildProcess;
  readonly url: string;
  readonly key: string;
  readonly exited: Promise<[code: number | null, signal: string | null]>;
}

const start = async (env: Readonly<Record<string, string>>): Promise<Service> => {
  const child = spawn(process.execPath, commandArgs(['start']), {
    cwd: packageRoot,
    env: { PATH: process.env['PATH'], PORT: '0', METRO__LOG__LEVEL: 'silent', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit') as Service['exited'];
  let output = '';
  for await (const chunk of child.stdout!) {
    output += chunk;
    const [, key, url] = /Bearer (mfk_\w+)" (\S+)\/markets/.exec(output) ?? [];
    if (key && url) return { process: child, url, key, exited };
  }
  throw new Error(`The process did not start: ${output}`);
};

type Outcome = 'answered' | 'last answer' | 'not connected' | 'failed';

const ask = async ({ url, key }: Service, outcomes: Outcome[]): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const once = () =>
    new Promise<Outcome>((resolve) => {
      const call = request(`${url}/markets`, { agent, headers: { Authorization: `Bearer ${key}` } }, (response) => {
        response.resume().on('error', () => resolve('failed'));
        response.on('end', () => {
          if (response.statusCode !== 200) resolve('failed');
          else resolve(response.headers.connection === 'close' ? 'last answer' : 'answered');
        });
      });
      call.on('error', (error: NodeJS.ErrnoException) => {
        // The kernel accepts connections before the service does, and resets them when the listener closes. A reset is
        // therefore no failure of the service.
        const refused = error.code === 'ECONNREFUSED' || (error.code === 'ECONNRESET' && !call.reusedSocket);
        resolve(refused ? 'not connected' : 'failed');
      });
      call.end();
    });
  for (;;) {
    const outcome = await once();
    outcomes.push(outcome);
    if (outcome === 'not connected' || outcome === 'failed') break;
    await delay(Math.random() * 5);
  }
  agent.destroy();
};

describe('SIGTERM', () => {
  const running: Service[] = [];
  const run = async (env: Readonly<Record<string, string>> = {}) => {
    const service = await start(env);
    running.push(service);
    return service;
  };
  afterEach(async () => {
    for (const { process, exited } of running.splice(0)) {
      if (process.exitCode === null && process.signalCode === null) process.kill('SIGKILL');
      await exited;
    }
  });

  it('under load over keep-alive connections fails no request, and the exit code is 0', async () => {
    const service = await run({ METRO__LIMITS__REQUESTS_PER_MINUTE: '1000000' });
    const outcomes: Outcome[] = [];
    const clients = Promise.all(Array.from({ length: 32 }, () => ask(service, outcomes)));
    await until(() => outcomes.length > 100);
    service.process.kill('SIGTERM');
    await clients;
    expect(await service.exited).to.deep.equal([0, null]);
    const count = (outcome: Outcome) => outcomes.filter((each) => each === outcome).length;
    console.log(
      `      ${count('answered')} answered, ${count('last answer')} with Connection: close, ${count('failed')} failed`,
    );
    expect(count('failed')).to.equal(0);
    expect(count('answered')).to.be.above(100);
    expect(count('last answer')).to.be.at.least(32);
  });

  it('makes /health fail first, while other requests get responses', async () => {
    const service = await run({ METRO__SERVER__DRAIN_DELAY_MS: '1500' });
    service.process.kill('SIGTERM');
    const health = await until(async () => {
      const answer = await requestOnce(`${service.url}/health`);
      return answer.status === 503 ? answer : undefined;
    });
    expect(health.json.code).to.equal('service_unavailable');
    expect(health.headers).to.include({ connection: 'close' }).and.to.have.property('retry-after');
    const markets = await requestOnce(`${service.url}/markets`, {
      headers: { Authorization: `Bearer ${service.key}` },
    });
    expect(markets.status).to.equal(200);
    expect(await service.exited).to.deep.equal([0, null]);
  });

  it('closes idle connections without waiting for their timeout', async () => {
    const service = await run({ METRO__SERVER__DRAIN_DELAY_MS: '0' });
    const agent = new Agent({ keepAlive: true });
    const call = request(`${service.url}/health`, { agent }).end();
    const [response] = await once(call, 'response');
    response.resume();
    await once(response, 'end');
    service.process.kill('SIGTERM');
    expect(await service.exited).to.deep.equal([0, null]);
    agent.destroy();
  });

  it('twice exits immediately', async () => {
    const service = await run({ METRO__SERVER__DRAIN_DELAY_MS: '600000' });
    service.process.kill('SIGTERM');
    await until(async () => (await requestOnce(`${service.url}/health`)).status === 503);
    service.process.kill('SIGTERM');
    expect(await service.exited).to.deep.equal([1, null]);
  });
});

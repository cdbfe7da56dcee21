import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect } from 'chai';
import { request } from '../../support/http-client.js';
import { LoadClient, sendAll } from '../../support/load-client.js';
import { freePort } from '../../support/server-process.js';
import { childrenOf, killAll, type Service, spawnCommand } from '../../support/spawned-service.js';
import { until } from '../../support/until.js';

const spawnService = (env: Readonly<Record<string, string>>): Service =>
  spawnCommand(['start'], { PORT: '0', METRO__SERVER__WORKERS: '2', ...env });

const pidsThatSaid = ({ output }: Service, message: string): number[] => {
  const lines = output.stderr.split('\n').filter((line) => line.includes(`"msg":"${message}"`) && line.endsWith('}'));
  return [...new Set(lines.map((line) => JSON.parse(line).pid as number))];
};

describe('workers', () => {
  const running: Service[] = [];
  const run = (env: Readonly<Record<string, string>> = {}) => {
    const service = spawnService(env);
    running.push(service);
    return service;
  };
  const started = async (env: Readonly<Record<string, string>> = {}) => {
    const service = run(env);
    const [, key, url] = await until(() => {
      if (service.process.exitCode !== null) throw new Error(service.output.stderr);
      return /Bearer (mfk_\w+)" (\S+)\/markets/.exec(service.output.stdout) ?? undefined;
    });
    return { ...service, key: key as string, url: url as string };
  };
  afterEach(() => killAll(running));

  it('without Redis share usage and quotas, and each returns the total', async () => {
    const { url, key } = await started({ METRO__AUTH__TIERS: '{"enterprise":{"requestsPerDay":40}}' });
    const ask = (path: string) =>
      request(`${url}${path}`, { headers: { Authorization: `Bearer ${key}`, Connection: 'close' } });
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask('/markets/99999')));
    expect(answers.every(({ status }) => status === 404)).to.equal(true);
    const { json } = await ask('/usage');
    expect(json.data[0]).to.include({ requests: 40, refused: 0 });
    expect((await ask('/markets')).json.code).to.equal('quota_exceeded');
    expect((await ask('/usage')).json.data[0]).to.include({ requests: 40, refused: 1 });
  });

  it('respond on one port, share one exact limit and one demo key, and exit with 0', async () => {
    const service = await started({ METRO__LIMITS__REQUESTS_PER_MINUTE: '600' });
    expect(await until(() => pidsThatSaid(service, 'listening')[1])).to.be.a('number');
    const client = new LoadClient(service.url, service.key, 64);
    const answers = await sendAll(client, Array<string>(2000).fill('/markets/26420'), 64);
    client.close();
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect([count(200), count(429)]).to.deep.equal([600, 1400]);
    // The kernel can assign all connections to one worker. The test opens connections until both workers have
    // responded.
    await until(async () => {
      await request(`${service.url}/markets`, { headers: { Connection: 'close' } });
      return pidsThatSaid(service, 'request')[1];
    });
    expect(service.output.stdout.match(/Listening on/g)).to.have.length(1);
    expect(service.output.stderr).to.not.contain('mfk_');

    service.process.kill('SIGTERM');
    expect(await service.exited).to.deep.equal([0, null]);
  });

  it('are replaced after SIGKILL, even if all are killed at once, on the same port and with the same limits', async () => {
    const service = await started({ METRO__SERVER__DRAIN_DELAY_MS: '0' });
    const headers = { Authorization: `Bearer ${service.key}` };
    const remaining = async () => {
      const answer = await request(`${service.url}/markets/26420`, { headers });
      return Number(/;r=(\d+)/.exec(String(answer.headers['ratelimit']))?.[1]);
    };
    const listening = (count: number) =>
      until(() => {
        const pids = pidsThatSaid(service, 'listening');
        return pids.length === count ? pids : undefined;
      });
    const left = await remaining();
    for (const pid of await listening(2)) process.kill(pid, 'SIGKILL');
    await listening(4);
    const ends = service.output.stderr.split('\n').filter((line) => line.includes('a worker exited'));
    expect(ends).to.have.length(2);
    for (const line of ends) expect(line.match(/"pid":/g)).to.have.length(1);
    expect(await remaining()).to.equal(left - 1);
    expect(service.process.exitCode).to.equal(null);
    service.process.kill('SIGINT');
    expect(await service.exited).to.deep.equal([0, null]);
  });

  it('are replaced later if the system cannot start them', async () => {
    // A variable of this length makes every `spawn` throw E2BIG.
    const script = `import c from 'node:cluster';
      if (c.isPrimary) process.on('SIGUSR2', () => {
        if (process.env.LONG_VALUE) delete process.env.LONG_VALUE;
        else process.env.LONG_VALUE = 'x'.repeat(200000);
      });`;
    const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(script)}`;
    const service = await started({ NODE_OPTIONS, METRO__SERVER__DRAIN_DELAY_MS: '0' });
    const listening = (count: number) =>
      until(() => {
        const pids = pidsThatSaid(service, 'listening');
        return pids.length === count ? pids : undefined;
      });
    const [first] = await listening(2);
    service.process.kill('SIGUSR2');
    process.kill(first!, 'SIGKILL');
    await until(() => (service.output.stderr.match(/spawn E2BIG/g)?.length ?? 0) >= 2);
    service.process.kill('SIGUSR2');
    await listening(3);
    expect(service.process.exitCode).to.equal(null);
    service.process.kill('SIGTERM');
    expect(await service.exited).to.deep.equal([0, null]);
  });

  it('log the reason once if they cannot start, and the exit code is 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const service = run({ PORT: String(port) });
    expect(await service.exited).to.deep.equal([1, null]);
    expect(service.output.stderr.match(/is already in use/g)).to.have.length(1);
    expect(service.output.stdout).to.equal('');
    taken.close();
  });

  it('are killed if they do not exit within server.drainMs plus 2 seconds', async () => {
    const service = await started({ METRO__SERVER__DRAIN_MS: '200', METRO__SERVER__DRAIN_DELAY_MS: '0' });
    const [stuck] = await until(() => {
      const pids = pidsThatSaid(service, 'listening');
      return pids.length === 2 ? pids : undefined;
    });
    process.kill(stuck!, 'SIGSTOP');
    service.process.kill('SIGTERM');
    expect(await service.exited).to.deep.equal([1, null]);
    expect(service.output.stderr).to.contain('workers did not exit in time');
    expect(() => process.kill(stuck!, 0)).to.throw('ESRCH');
  });

  it('exit immediately on the second signal', async () => {
    const service = await started({ METRO__SERVER__DRAIN_DELAY_MS: '600000' });
    service.process.kill('SIGTERM');
    await until(async () => (await request(`${service.url}/health`)).status === 503);
    service.process.kill('SIGTERM');
    expect(await service.exited).to.deep.equal([1, null]);
    const refused = () =>
      request(`${service.url}/health`).then(
        () => undefined,
        () => true,
      );
    expect(await until(refused)).to.equal(true);
  });

  it('serve their metrics on one page, with the worker number, even after a replacement', async () => {
    const port = await freePort();
    const service = await started({ METRO__METRICS__PORT: String(port), METRO__SERVER__DRAIN_DELAY_MS: '0' });
    const counted = async (): Promise<Map<string, number>> => {
      const { text } = await request(`http://127.0.0.1:${port}/metrics`);
      expect(text.match(/^# TYPE limiter_decisions_total /gm)).to.have.length(1);
      const found = text.matchAll(/^limiter_decisions_total\{worker="(\d)",decision="allowed",tier="[^"]+"\} (\d+)$/gm);
      return new Map([...found].map(([, worker, count]) => [worker!, Number(count)]));
    };
    const sum = (counts: Map<string, number>) => [...counts.values()].reduce((a, b) => a + b, 0);
    const client = new LoadClient(service.url, service.key, 16);
    await sendAll(client, Array<string>(100).fill('/markets/26420'), 16);
    client.close();
    const before = await counted();
    expect([[...before.keys()], sum(before)]).to.deep.equal([['1', '2'], 100]);
    const [first] = pidsThatSaid(service, 'listening');
    process.kill(first!, 'SIGKILL');
    await until(() => pidsThatSaid(service, 'listening')[2]);
    const after = await counted();
    expect([...after.keys()]).to.deep.equal(['1', '2']);
    expect(sum(after)).to.be.at.most(100);
  });

  it('the service exits if its first worker is killed before it listens, even with a metrics port', async () => {
    const port = await freePort();
    const service = run({ METRO__METRICS__PORT: String(port) });
    const [worker] = await until(() => {
      const pids = childrenOf(service.process.pid!);
      return pids.length > 0 ? pids : undefined;
    });
    process.kill(worker!, 'SIGKILL');
    expect(await service.exited).to.deep.equal([1, null]);
    expect(service.output.stderr).to.contain('The first worker was killed by SIGKILL before it was listening.');
  });
});

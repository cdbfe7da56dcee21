import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';
import { commandArgs } from '../support/command-process.js';
import { request } from '../support/http-client.js';
import { LoadClient } from '../support/load-client.js';
import { type Arrival, OpenLoop } from '../support/open-loop.js';

const RECOVERY_SECONDS = 2;
const PROBE_EVERY_MS = 50;

const KEPT = ['/markets', '/markets/26420', '/markets/26420/history', '/movers', '/signals', '/series'];

/** Half of the requests are for cached responses. The others read the index of different metros. */
const mixed = (basePath: string, codes: readonly string[]): (() => string) => {
  let count = 0;
  return () => {
    const half = count++ >> 1;
    if (count % 2 > 0) return `${basePath}${KEPT[half % KEPT.length]}`;
    // Every set contains the last 20 metros. The bits of a counter select the other metros, so no set repeats.
    const chosen = codes.filter((_, i) => i >= codes.length - 20 || ((half >> i) & 1) === 1);
    return `${basePath}/observations?series_id=metro_hpi&cbsa=${chosen.join(',')}`;
  };
};

const SECONDS = 30;
const MEASURING_SECONDS = 2;

const start = async (): Promise<{ child: ChildProcess; key: string; url: string }> => {
  const child = spawn(process.execPath, commandArgs(['start']), {
    cwd: packageRoot,
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      METRO__LOG__LEVEL: 'silent',
      METRO__LIMITS__REQUESTS_PER_MINUTE: '1000000000',
      // One caller may use half of these 200 slots. The test is one caller and exceeds this share with 500 connections.
      METRO__SERVER__OVERLOAD__MAX_IN_FLIGHT: '200',
      // The cache is large enough only for the repeated responses.
      METRO__HTTP__CACHE_BYTES: '1000000',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const chunk of child.stdout) {
    output += chunk;
    const [, key, url] = /Bearer (mfk_\w+)" (\S+)\/markets/.exec(output) ?? [];
    if (key && url) return { child, key, url };
  }
  throw new Error(`The process did not start: ${output}`);
};

const probe = (ask: () => Promise<{ readonly status: number }>): { stop(): Promise<number[]> } => {
  const times: number[] = [];
  let over = false;
  const asking = (async () => {
    while (!over) {
      const since = performance.now();
      expect((await ask()).status).to.equal(200);
      times.push(performance.now() - since);
      await delay(PROBE_EVERY_MS);
    }
  })();
  return {
    async stop() {
      over = true;
      await asking;
      return times;
    },
  };
};

const p99 = (arrivals: readonly Arrival[]): number =>
  arrivals.map(({ ms }) => ms).sort((a, b) => a - b)[Math.ceil(arrivals.length * 0.99) - 1] ?? Number.NaN;

const ms = (value: number): string => `${value.toFixed(1)} ms`;

describe('three times the capacity', function () {
  this.timeout(4 * SECONDS * 1000 + 60_000);

  it('gets 503 with Retry-After beyond the capacity while /health still responds, and the service recovers immediately', async () => {
    const { child, key, url } = await start();
    try {
      const { port, pathname } = new URL(url);
      const { json } = await request(`${url}/markets`, { headers: { Authorization: `Bearer ${key}` } });
      const codes = json.data.map(({ cbsa }: { cbsa: string }) => cbsa);
      const loop = new OpenLoop(Number(port), mixed(pathname, codes), key);
      // Like a load balancer, the test opens all connections in advance.
      await loop.capacity(500, MEASURING_SECONDS / 2);
      await delay(RECOVERY_SECONDS * 1000);
      await loop.capacity(16, MEASURING_SECONDS / 2);
      const capacity = await loop.capacity(16, MEASURING_SECONDS);
      const unloaded = await loop.run(capacity / 5, MEASURING_SECONDS);
      let rate = capacity * 3;
      const client = new LoadClient(url, key, 1);
      await client.get('/health');
      const probes = [probe(() => client.get('/health')), probe(() => request(`${url}/health`))];
      let since = performance.now();
      let loaded = await loop.run(rate, SECONDS);
      // On a busy machine, the measured capacity is too low. The load is then doubled until the service rejects
      // requests.
      for (let doublings = 0; doublings < 3 && loaded.every(({ status }) => status === 200); doublings++) {
        rate *= 2;
        since = performance.now();
        loaded = await loop.run(rate, SECONDS);
      }
      const drained = performance.now() - since - SECONDS * 1000;
      const [kept, fresh] = (await Promise.all(probes.map((each) => each.stop()))) as [number[], number[]];
      const after = await loop.run(capacity / 5, RECOVERY_SECONDS);
      const later = await loop.run(capacity / 5, 1);
      loop.close();
      client.close();

      const admitted = loaded.filter(({ status }) => status === 200);
      const refused = loaded.filter(({ status }) => status === 503);
      const [quiet, busy] = [p99(unloaded), p99(admitted)];
      const lastRefused = after.findLastIndex(({ status }) => status !== 200);
      const recovery = drained + ((lastRefused + 1) / after.length) * RECOVERY_SECONDS * 1000;
      const perSecond = (arrivals: readonly Arrival[]) => `${(arrivals.length / SECONDS).toFixed(0)}/s`;
      for (const line of [
        `capacity ${capacity.toFixed(0)}/s, offered ${rate.toFixed(0)}/s for ${SECONDS} s`,
        `admitted ${perSecond(admitted)}, rejected ${perSecond(refused)}, recovered in ${ms(recovery)}`,
        `p99 ${ms(quiet)} at a fifth of the capacity, ${ms(busy)} admitted: ${(busy / quiet).toFixed(1)} x`,
        `p99 ${ms(p99(refused))} of 503s`,
        `/health ${ms(Math.max(...kept))} at most on a keep-alive connection, ${ms(Math.max(...fresh))} on new ones`,
      ]) {
        console.log(`      ${line}`);
      }
      expect(admitted.length + refused.length).to.equal(loaded.length);
      expect(refused.length).to.be.above(0);
      expect(refused.every(({ retryAfter }) => retryAfter)).to.equal(true);
      expect(new Set(later.map(({ status }) => status))).to.deep.equal(new Set([200]));
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
});

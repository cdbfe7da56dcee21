/** Three times as many requests as the service can answer, by arrival rate. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { packageRoot } from '../../core/package-root.js';
import { commandArgs } from '../support/command-process.js';
import { LoadClient } from '../support/load-client.js';
import { type Arrival, OpenLoop } from '../support/open-loop.js';

/** The figures want a minute: `OVERLOAD_SECONDS=60`. */
const SECONDS = Number(process.env['OVERLOAD_SECONDS'] || 6);

const p99 = (arrivals: readonly Arrival[]): number =>
  arrivals.map(({ ms }) => ms).sort((a, b) => a - b)[Math.ceil(arrivals.length * 0.99) - 1] ?? Number.NaN;

describe('three times the capacity', function () {
  this.timeout(SECONDS * 1000 + 60_000);

  it('is refused by 503 with Retry-After beyond the capacity, while /health answers, and is forgotten at once', async () => {
    const child = spawn(process.execPath, commandArgs(['start']), {
      cwd: packageRoot,
      env: {
        PATH: process.env['PATH'],
        PORT: '0',
        METRO__LOG__LEVEL: 'silent',
        METRO__LIMITS__REQUESTS_PER_MINUTE: '1000000000',
        // Nothing is kept, so that this process can ask for more than the service can answer.
        METRO__HTTP__CACHE_BYTES: '0',
        // For answers that take under a millisecond.
        METRO__SERVER__OVERLOAD__MAX_EVENT_LOOP_DELAY_MS: '5',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let output = '';
      let started: RegExpExecArray | null = null;
      child.stdout.on('data', (chunk) => {
        output += chunk;
        started = /Bearer (mfk_\w+)" (\S+)\/markets/.exec(output);
      });
      while (!started) await delay(20);
      const [, key, url] = started as unknown as [string, string, string];
      const loop = new OpenLoop(
        Number(new URL(url).port),
        '/api/v1/observations?series_id=metro_hpi&since=2020-01-01',
        key,
      );

      // As a load balancer does it: all connections are there before, and kept.
      await loop.capacity(500, 1);
      const capacity = await loop.capacity(4, 2);
      const unloaded = await loop.run(capacity / 5, 3);
      const rate = capacity * 3;
      const prober = new LoadClient(url, key, 1);
      await prober.get('/health');
      const health: number[] = [];
      let over = false;
      const asking = (async () => {
        while (!over) {
          const since = performance.now();
          expect((await prober.get('/health')).status).to.equal(200);
          health.push(performance.now() - since);
          await delay(50);
        }
      })();
      const loaded = await loop.run(rate, SECONDS);
      over = true;
      await asking;
      const ended = performance.now();
      const after: Arrival[] = [];
      while (performance.now() - ended < 2000) after.push(...(await loop.run(capacity / 5, 0.2)));
      loop.close();
      prober.close();

      const admitted = loaded.filter(({ status }) => status === 200);
      const refused = loaded.filter(({ status }) => status === 503);
      console.log(`      capacity ${capacity.toFixed(0)}/s, offered ${rate.toFixed(0)}/s for ${SECONDS} s`);
      console.log(
        `      admitted ${(admitted.length / SECONDS).toFixed(0)}/s, refused ${(refused.length / SECONDS).toFixed(0)}/s`,
      );
      const [quiet, busy] = [p99(unloaded), p99(admitted)];
      console.log(
        `      p99 ${quiet.toFixed(1)} ms unloaded, ${busy.toFixed(1)} ms admitted: ${(busy / quiet).toFixed(1)} x`,
      );
      console.log(
        `      p99 ${p99(refused).toFixed(1)} ms of 503s, /health ${Math.max(...health).toFixed(1)} ms at most`,
      );
      expect(admitted.length + refused.length).to.equal(loaded.length);
      expect(refused.length).to.be.above(0);
      expect(refused.every(({ retryAfter }) => retryAfter)).to.equal(true);
      // What waits at the end is answered first.
      expect(new Set(after.slice(after.length / 2).map(({ status }) => status))).to.deep.equal(new Set([200]));
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
});

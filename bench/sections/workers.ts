/** One worker beside two, with the load generator's share of the machine. */
import { cpus } from 'node:os';
import type { Bench } from '../bench.js';
import { cpuSeconds, processCount } from '../pinned-process.js';
import { startServer } from '../server.js';
import { BASE, json, serviceCommand } from '../service.js';
import { median } from '../statistics.js';
import type { SectionReport } from '../table.js';
import { runWrk } from '../wrk.js';

interface Sample {
  readonly rate: number;
  /** Cores that the service's processes kept busy. */
  readonly cores: number;
}

export const workers = async (bench: Bench): Promise<SectionReport> => {
  const all = `0-${cpus().length - 1}`;
  const start = async (count: number) =>
    startServer(
      await serviceCommand(bench, { adapter: json(bench.dataset), limiter: 'redis', workers: count, cores: all }),
    );
  const servers = [await start(1), await start(2)];
  try {
    if (processCount(servers[1]!.pid) < 3) {
      return { tables: [], notes: ['Left out: this build starts no workers.'] };
    }
    const samples: Sample[][] = [[], []];
    for (let round = 0; round < bench.settings.rounds; round++) {
      for (const [index, { origin, pid }] of servers.entries()) {
        bench.say(`Workers: ${index + 1}, round ${round + 1}`);
        const url = `${origin}${BASE}/markets/${bench.cbsa}`;
        const { seconds } = bench.settings;
        await runWrk({ url, key: bench.key, connections: 32, seconds: 1, cores: all });
        const before = cpuSeconds(pid);
        const { requestsPerSecond } = await runWrk({ url, key: bench.key, connections: 32, seconds, cores: all });
        samples[index]!.push({ rate: requestsPerSecond, cores: (cpuSeconds(pid) - before) / seconds });
      }
    }
    const [one, two] = samples.map((runs) => ({
      rate: median(runs.map(({ rate }) => rate)),
      cores: median(runs.map(({ cores }) => cores)),
    })) as [Sample, Sample];
    const row = (count: number, { rate, cores }: Sample) => {
      const perCore = rate / cores;
      const alone = (count * perCore) / (one.rate / one.cores);
      return [count, rate, rate / one.rate, cores, perCore, alone];
    };
    return {
      tables: [
        {
          title: 'One market by workers, 32 connections, limits on Redis',
          columns: ['workers', 'requests/s', 'x one', 'cores busy', 'requests/s a busy core', 'x one, a core each'],
          rows: [row(1, one), row(2, two)],
        },
      ],
      notes: [
        `Nothing is bound to a core here: wrk and Redis share the ${cpus().length} cores with the workers, so two workers ` +
          'get what these leave. Cores busy are those of the service alone; the last column is what each would add to ' +
          'the other with a core of its own.',
      ],
    };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
};

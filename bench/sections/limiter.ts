/** What limits cost: without any, in memory, on Redis; and whether a refusal is as cheap as an answer. */
import { fileURLToPath } from 'node:url';
import type { Bench } from '../bench.js';
import { runPinned, SERVER_CORE } from '../pinned-process.js';
import { type RunningServer, startServer } from '../server.js';
import { BASE, json, serviceCommand } from '../service.js';
import { percent, type SectionReport } from '../table.js';
import { takeTurns } from '../turns.js';

const KINDS = ['off', 'memory', 'redis'] as const;

const roundTrip = async (bench: Bench): Promise<number> => {
  const program = fileURLToPath(new URL('../round-trip.js', import.meta.url));
  return Number(await runPinned(SERVER_CORE, [process.execPath, program, 'redis', bench.redis]));
};

export const limiter = async (bench: Bench): Promise<SectionReport> => {
  const servers = new Map<string, RunningServer>();
  try {
    const start = async (name: string, limiter: (typeof KINDS)[number]) => {
      const command = await serviceCommand(bench, { adapter: json(bench.dataset), limiter });
      servers.set(name, await startServer(command));
    };
    for (const kind of KINDS) await start(kind, kind);
    // By itself: what so many keys leave behind is not to be measured with others.
    await start('usual', 'redis');
    const turnOf = (name: string) => {
      const { origin, pid } = servers.get(name)!;
      return { name, url: `${origin}${BASE}/markets/${bench.cbsa}`, pid };
    };
    const refused = { ...turnOf('redis'), name: 'refused', key: bench.refusedKey, refusals: true };
    bench.say('Limiter: 32 connections');
    const busy = await takeTurns(bench, [
      ...KINDS.map((kind) => ({ ...turnOf(kind), connections: 32 })),
      { ...turnOf('usual'), key: bench.usualKeys, connections: 32 },
      { ...refused, connections: 32 },
    ]);
    bench.say('Limiter: one connection');
    const quiet = await takeTurns(
      bench,
      KINDS.map((kind) => ({ ...turnOf(kind), connections: 1 })),
    );
    const ping = await roundTrip(bench);
    const off = busy.get('off')!.requestsPerSecond;
    const titles: Readonly<Record<string, string>> = {
      off: 'no limiter',
      memory: 'limits in memory',
      redis: 'limits on Redis',
      usual: `limits on Redis, ${bench.usualKeys.length.toLocaleString('en')} keys of 600`,
      refused: '429s, limits on Redis',
    };
    return {
      tables: [
        {
          title: 'One market, by limiter',
          columns: [
            ...['', 'requests/s, 32 connections', 'spread', 'cost'],
            ...['CPU, microseconds', 'p50, 1 connection, microseconds'],
          ],
          rows: [...busy].map(([name, outcome]) => [
            titles[name]!,
            outcome.requestsPerSecond,
            percent(outcome.spread),
            percent(1 - outcome.requestsPerSecond / off),
            outcome.cpu,
            quiet.get(name)?.p50 ?? null,
          ]),
        },
      ],
      notes: [
        `429s are served at ${(busy.get('refused')!.requestsPerSecond / busy.get('redis')!.requestsPerSecond).toFixed(2)} x the rate of answers.`,
        `On one connection Redis adds ${(quiet.get('redis')!.p50 - quiet.get('off')!.p50).toFixed(0)} microseconds to the ` +
          `median; a PING alone takes ${ping.toFixed(0)} from the same core.`,
      ],
    };
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()));
  }
};

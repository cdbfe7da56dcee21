/** How long an answer takes at half of the service's capacity, for all that can carry as much. */
import type { ArrivalResult } from '../arrival.js';
import type { Bench } from '../bench.js';
import { BARE, contenders, FASTIFY, SERVICE } from '../contenders.js';
import { withLineup } from '../lineup.js';
import { runArrival } from '../run-arrival.js';
import { medianOf } from '../statistics.js';
import type { SectionReport } from '../table.js';
import { takeTurns } from '../turns.js';

const CONNECTIONS = 64;
/** A contender nearer to its capacity than this would be measured for its queue. */
const HEADROOM = 1.25;

export const latency = (bench: Bench): Promise<SectionReport> => {
  const chosen = contenders.filter(({ name }) => [SERVICE, BARE, FASTIFY].includes(name));
  return withLineup(bench, chosen, async (entrants) => {
    bench.say('Latency: finding the capacity');
    const capacity = await takeTurns(
      bench,
      entrants.map(({ contender, url }) => ({ name: contender.name, url: url('market'), connections: 32 })),
    );
    const rate = Math.floor(capacity.get(SERVICE)!.requestsPerSecond / 2);
    const able = entrants.filter(
      ({ contender: { name } }) =>
        name === BARE || name === SERVICE || capacity.get(name)!.requestsPerSecond >= rate * HEADROOM,
    );
    const unable = entrants.filter((entrant) => !able.includes(entrant)).map(({ contender }) => contender.name);
    bench.say(`Latency: ${rate} requests/s`);
    const results = new Map(able.map(({ contender }) => [contender.name, [] as ArrivalResult[]]));
    const { rounds, seconds } = bench.settings;
    for (let round = 0; round < rounds; round++) {
      for (const { contender, url } of able) {
        const orders = {
          url: url('market'),
          key: bench.key,
          rate,
          seconds,
          warmUpSeconds: 1,
          connections: CONNECTIONS,
        };
        results.get(contender.name)!.push(await runArrival(orders));
      }
    }
    const bare = results.get(BARE);
    return {
      tables: [
        {
          title: `One market at ${rate} requests/s, half of the service's capacity: latency in microseconds`,
          columns: ['', 'p50', 'p99', 'p99.9', `p99 x ${BARE}`],
          rows: [...results].map(([name, runs]) => [
            name,
            medianOf(runs, 'p50'),
            medianOf(runs, 'p99'),
            medianOf(runs, 'p999'),
            bare ? medianOf(runs, 'p99') / medianOf(bare, 'p99') : null,
          ]),
        },
      ],
      notes: [
        `Open loop over ${CONNECTIONS} connections: each request is timed from when it fell due, so that stalls count in full.`,
        ...(unable.length > 0 ? [`Cannot carry as much: ${unable.join(', ')}.`] : []),
      ],
    };
  });
};

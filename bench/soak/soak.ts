/**
 * `npm run soak` sends mixed requests while data is published repeatedly. The run fails if the number of descriptors or
 * listeners grows, or if memory usage grows.
 */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { openDirectory } from '../../core/data/directory.js';
import { packageRoot } from '../../core/util/package.js';
import { newKey } from '../../test/support/key-record.js';
import { type Server, startMongo } from '../../test/support/services.js';
import { bindStore, stayOnLoadCore } from '../process.js';
import { HUGE_LIMIT, json } from '../service.js';
import { formatCell, type Table } from '../table.js';
import { Load } from './load.js';
import type { Holdings } from './probe.js';
import { openPublisher, type Publisher } from './publisher.js';
import { type MixOptions, requestMix } from './requests.js';
import { conclude, growthOf } from './verdict.js';
import { type WatchedServer, withWatched } from './watched.js';

const ADAPTERS = ['json', 'mongo'] as const;
type AdapterName = (typeof ADAPTERS)[number];

interface Options {
  readonly adapter?: AdapterName;
  readonly seconds: number;
  readonly publishEvery: number;
}

interface Sample extends Holdings {
  readonly published: number;
}

const MIB = 2 ** 20;
const MAX_SAMPLES = 120;
const SHORTEST_INTERVAL = 2;
const SMALL_LIMIT = 60;
const CLIENTS = 32;
/** Connections that the pool opens later would look like leaked descriptors, so it opens all of them at startup. */
const POOL = { poolMin: 20, poolMax: 20 };
const SOURCE = join(packageRoot, 'plugins/metro/dataset');
const PLUGINS = ['markets', 'forecasts', 'observations', 'signals', 'status', 'docs', 'explore'];

interface Quantity {
  readonly title: string;
  read(sample: Sample): number;
  /** Allowed growth, either as a fraction of the mean (`share`) or in the unit of the quantity (`number`). */
  readonly allowed: { readonly share: number } | { readonly number: number };
}

const QUANTITIES: readonly Quantity[] = [
  { title: 'RSS, MiB', read: ({ rss }) => rss / MIB, allowed: { share: 0.05 } },
  { title: 'heap, MiB', read: ({ heapUsed }) => heapUsed / MIB, allowed: { share: 0.05 } },
  { title: 'external, MiB', read: ({ external }) => external / MIB, allowed: { share: 0.1 } },
  { title: 'descriptors', read: ({ fds }) => fds, allowed: { number: 4 } },
  { title: 'handles', read: ({ resources }) => resources, allowed: { number: 4 } },
  { title: 'listeners', read: ({ listeners }) => listeners, allowed: { number: 0 } },
];

const valuesOf = async (collection: string, field: string): Promise<string[]> => {
  const values: string[] = [];
  const { dataset } = await openDirectory(SOURCE);
  for await (const rows of dataset.read(collection)) values.push(...rows.map((row) => String(row[field])));
  return values;
};

/** Each sample is taken when no request is in progress. */
const sampleAll = async (
  { server, load, publisher }: { server: WatchedServer; load: Load; publisher: Publisher },
  mix: MixOptions,
  { seconds, publishEvery }: Options,
): Promise<readonly Sample[]> => {
  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 1000;
  const next = requestMix(mix);
  const interval = Math.max(SHORTEST_INTERVAL, seconds / MAX_SAMPLES);
  const samples: Sample[] = [];
  const sampling = async (): Promise<void> => {
    while (elapsed() < seconds) {
      const until = elapsed() + interval;
      await load.run(next, () => elapsed() >= until);
      const sample = { published: publisher.published, ...(await server.holdings()) };
      samples.push(sample);
      const figures = QUANTITIES.map(({ title, read }) => `${title} ${formatCell(read(sample))}`);
      process.stderr.write(`${elapsed().toFixed(0)} s: ${load.responses} responses; ${figures.join('; ')}\n`);
    }
  };
  const publishing = publisher.repeat(publishEvery, () => elapsed() >= seconds);
  await Promise.race([Promise.all([sampling(), publishing]), server.exited]);
  return samples;
};

const judge = (adapter: AdapterName, samples: readonly Sample[], load: Load): readonly [Table, readonly string[]] => {
  const last = samples.at(-1)!;
  const failures = last.warnings.map((warning) => `Node warned: ${warning}`);
  const { length } = load.unexpected;
  if (length > 0) failures.push(`${length} unexpected responses, such as ${load.unexpected.slice(0, 5).join('; ')}`);
  const rows = QUANTITIES.map(({ title, read, allowed }) => {
    const { mean, growth } = growthOf(samples.map(read));
    const most = 'share' in allowed ? allowed.share * mean : allowed.number;
    if (growth > most) failures.push(`${title} grew by ${formatCell(growth)}, more than ${formatCell(most)}`);
    return [title, mean, growth, most];
  });
  const statuses = [...load.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  const title = `${adapter}: ${last.published} publications; responses ${statuses.join(', ')}`;
  const columns = ['', 'mean', 'growth, middle to last third', 'allowed'];
  return [{ title, columns, rows }, failures.map((failure) => `${adapter}: ${failure}`)];
};

const soak = async (adapter: AdapterName, options: Options): Promise<readonly [Table, readonly string[]]> => {
  const [trusted, limited] = [newKey({ limit_per_minute: HUGE_LIMIT }), newKey({ limit_per_minute: SMALL_LIMIT })];
  let mongo: Server | undefined;
  const setUp = async (folder: string) => {
    if (adapter === 'json') {
      await cp(SOURCE, join(folder, 'dataset'), { recursive: true });
      return json(join(folder, 'dataset'));
    }
    mongo = await startMongo();
    bindStore(mongo.pid);
    return { use: 'mongo', options: { uri: mongo.url, database: 'soak', ...POOL } };
  };
  const settings = { keys: [trusted.record, limited.record], more: { plugins: PLUGINS } };
  try {
    return await withWatched(settings, setUp, async (config, start) => {
      const publisher = await openPublisher(config, SOURCE);
      await publisher.publish();
      const server = await start();
      const load = new Load(server.port, CLIENTS);
      const mix: MixOptions = {
        ...{ key: trusted.key, limitedKey: limited.key },
        ...{ versions: adapter === 'mongo', etags: load.etags },
        cbsas: await valuesOf('markets', 'cbsa'),
        series: (await valuesOf('series', 'series_id')).filter((id) => id !== 'metro_hpi'),
      };
      const samples = await sampleAll({ server, load, publisher }, mix, options);
      await publisher.close();
      return judge(adapter, samples, load);
    });
  } finally {
    await mongo?.stop();
  }
};

const run = async (options: Options): Promise<void> => {
  stayOnLoadCore();
  const results: (readonly [Table, readonly string[]])[] = [];
  for (const adapter of options.adapter ? [options.adapter] : ADAPTERS) results.push(await soak(adapter, options));
  conclude(
    results.map(([table]) => table),
    results.flatMap(([, failures]) => failures),
  );
};

const atLeast = (least: number) => (text: string) => {
  const number = Number(text);
  if (!(number >= least)) throw new InvalidArgumentError(`It must be a number from ${least}.`);
  return number;
};

await new Command('soak')
  .description(
    'Sends requests for a long time while data is published. Fails if memory, descriptors or listeners grow.',
  )
  .addOption(new Option('--adapter <name>', 'test one adapter').choices([...ADAPTERS]))
  .option('--seconds <n>', 'duration of the load on each adapter', atLeast(30), 3600)
  .option('--publish-every <seconds>', 'pause between publications', atLeast(0.1), 3)
  .action(run)
  .parseAsync();

import { compareBy } from 'metro-forecast-api/adapter';
import {
  type Collection,
  definePlugin,
  type FromSchema,
  type PublishedVersion,
  type SnapshotReader,
  schemas,
  serviceRoute,
  version,
} from 'metro-forecast-api/plugin';
import { forecastRuns, hpi, METRO_HPI, markets, observations, series } from '../collections.js';
import { completedRuns, listResponse } from './shared.js';

const { date, dateTime, record, text } = schemas;

const count = (description: string) => ({ type: 'integer', minimum: 0, description }) as const;

const changes = record({
  markets: count('Number of markets added or removed.'),
  values_added: count('Number of values added to the index and the macro series.'),
  values_revised: count('Number of values revised.'),
  values_removed: count('Number of values removed.'),
  runs_added: count('Number of completed runs added.'),
});

type Changes = FromSchema<typeof changes>;

const vintageRow = {
  title: 'Vintage',
  ...record({
    version: { ...text, description: 'Name of the version, as in the header `Snapshot-Version`.' },
    vintage: { ...date, description: 'A day on which the data was available.' },
    data_through: {
      ...schemas.nullable(date),
      description: 'First day of the last quarter in the index. Null if the version has no index.',
    },
    published_at: { ...dateTime, description: 'Time at which the version became the current one.' },
    current: { type: 'boolean', description: 'Whether the version is served to requests without `as_of`.' },
    changes: {
      anyOf: [changes, { type: 'null' }],
      description: 'Changes since the previous publication. Null if the store no longer has that version.',
    },
  }),
};

async function* documentsOf<T extends object>(snapshot: SnapshotReader, collection: Collection<T>) {
  for await (const batch of snapshot.stream(collection)) yield* batch;
}

interface Difference {
  added: number;
  removed: number;
  changed: number;
}

/** Reads both snapshots as streams to limit memory use. */
const compare = async <T extends object>(
  collection: Collection<T>,
  before: SnapshotReader,
  after: SnapshotReader,
  isChanged: (before: T, after: T) => boolean = () => false,
): Promise<Difference> => {
  const difference: Difference = { added: 0, removed: 0, changed: 0 };
  const byKey = compareBy(collection.key) as unknown as (one: T, other: T) => number;
  const [olds, news] = [documentsOf(before, collection), documentsOf(after, collection)];
  let [old, now] = await Promise.all([olds.next(), news.next()]);
  while (!old.done || !now.done) {
    const order = old.done ? 1 : now.done ? -1 : byKey(old.value, now.value);
    if (order === 0 && isChanged(old.value as T, now.value as T)) difference.changed++;
    if (order < 0) difference.removed++;
    if (order > 0) difference.added++;
    if (order <= 0) old = await olds.next();
    if (order >= 0) now = await news.next();
  }
  return difference;
};

const isRevised = (before: { readonly value: number }, after: { readonly value: number }): boolean =>
  before.value !== after.value;

const changesBetween = async (before: SnapshotReader, after: SnapshotReader): Promise<Changes> => {
  const ofMarkets = await compare(markets, before, after);
  const ofIndex = await compare(hpi, before, after, isRevised);
  const ofMacro = await compare(observations, before, after, isRevised);
  const known = new Set((await completedRuns(before)).map(({ id }) => id));
  return {
    markets: ofMarkets.added + ofMarkets.removed,
    values_added: ofIndex.added + ofMacro.added,
    values_revised: ofIndex.changed + ofMacro.changed,
    values_removed: ofIndex.removed + ofMacro.removed,
    runs_added: (await completedRuns(after)).filter(({ id }) => !known.has(id)).length,
  };
};

/** Undefined if the version cannot be read. */
type Counted = Promise<
  { readonly vintage: string; readonly data_through: string | null; readonly changes: Changes | null } | undefined
>;

/** Counts the changes in each published version. A version never changes, so its counts are cached. */
class Vintages {
  readonly #counted = new Map<string, Counted>();

  async list(published: readonly PublishedVersion[]) {
    const listed = new Set<string>();
    const rows: FromSchema<typeof vintageRow>[] = [];
    // Each comparison reads two whole versions, so only one comparison runs at a time.
    for (const [i, version] of published.entries()) {
      const before = published[i + 1];
      const name = JSON.stringify([version.version, before?.version]);
      listed.add(name);
      const row = await (this.#counted.get(name) ?? this.#count(name, version, before));
      if (!row) continue;
      rows.push({
        version: version.version,
        vintage: row.vintage,
        data_through: row.data_through,
        published_at: version.publishedAt.toISOString().replace('.000Z', 'Z'),
        current: version.current,
        changes: row.changes,
      });
    }
    for (const name of this.#counted.keys()) if (!listed.has(name)) this.#counted.delete(name);
    return { data: rows };
  }

  #count(name: string, version: PublishedVersion, before: PublishedVersion | undefined): Counted {
    const counted = version.read(async (after) => ({
      vintage: after.manifest.vintage,
      data_through: (await after.get(series, [METRO_HPI]))?.observation_end ?? null,
      changes: (await before?.read((snapshot) => changesBetween(snapshot, after))) ?? null,
    }));
    this.#counted.set(name, counted);
    const forget = (): void => void this.#counted.delete(name);
    // If this replica cannot read a listed version yet, the next request counts again.
    counted.then((row) => (row && (row.changes || !before) ? undefined : forget()), forget);
    return counted;
  }
}

export default definePlugin({
  name: 'vintages',
  version,
  description: 'The published versions, with their changes.',
  needs: ['markets', 'observations', 'forecasts'],
  collections: [markets, hpi, series, observations, forecastRuns],
  routes: () => {
    const vintages = new Vintages();
    return [
      serviceRoute({
        path: '/vintages',
        operationId: 'listVintages',
        summary: 'The published versions, with their changes',
        description:
          'The stored publications, newest first. Stores that keep no earlier versions list only the current one. To read a ' +
          'version from any data endpoint, set `as_of` to a date on or after its `published_at`.',
        response: listResponse('One row per publication.', vintageRow, {
          version: '2025Q4',
          vintage: '2026-02-24',
          data_through: '2025-10-01',
          published_at: '2026-02-24T14:00:00Z',
          current: true,
          changes: {
            markets: 42,
            values_added: 5120,
            values_revised: 60211,
            values_removed: 3406,
            runs_added: 1,
          },
        }),
        handler: async (_input, { state }) => vintages.list(await state.versions()),
      }),
    ];
  },
});

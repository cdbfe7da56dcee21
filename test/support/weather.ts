import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Collection, Document, Manifest } from '../../core/contracts/dataset.js';

const text = { type: 'string', minLength: 1 };
const object = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

export const stations: Collection = {
  name: 'stations',
  key: ['id'],
  schema: object({ id: text, name: text }),
};

export const readings: Collection<{ station: string; day: string; low: number; high: number }> = {
  name: 'readings',
  key: ['station', 'day'],
  orders: [['day', 'station']],
  references: [{ fields: ['station'], to: 'stations' }],
  schema: object({
    station: text,
    day: { type: 'string', format: 'date' },
    low: { type: 'number' },
    high: { type: 'number' },
  }),
  check: ({ low, high }) => (low > high ? { field: 'low', rule: 'must not be above high' } : undefined),
};

export const collections: ReadonlyMap<string, Collection> = new Map(
  [readings, stations].map((collection) => [collection.name, collection as Collection]),
);

export const manifestOf = (version = 'one', created = '2026-01-01T00:00:00Z'): Manifest => ({
  format: 1,
  version,
  created,
  vintage: '2025-12-31',
  synthetic: true,
  sources: [],
});

type WeatherRows = Readonly<Record<'stations' | 'readings', readonly Document[]>>;

export const rows: WeatherRows = {
  stations: [
    { id: 'north', name: 'Nørre Station' },
    { id: 'south', name: 'South' },
  ],
  readings: [
    { station: 'north', day: '2025-01-01', low: -3, high: 1.5 },
    { station: 'north', day: '2025-01-02', low: -2, high: 2 },
    { station: 'south', day: '2025-01-01', low: 4, high: 9 },
  ],
};

export const rowsOf = (version: number): WeatherRows => ({
  stations: rows.stations.map((row) => ({ ...row, name: `v${version}` })),
  readings: rows.readings.map((row) => ({ ...row, low: version, high: version })),
});

export const lines = (documents: readonly unknown[]): string =>
  documents.map((document) => `${JSON.stringify(document)}\n`).join('');

/** Writes a directory as a person would, with plain file names and without checksums. */
export const writeByHand = async (
  path: string,
  files: Readonly<Record<string, string | Buffer>> = {},
  manifest: object = {},
): Promise<void> => {
  await mkdir(path, { recursive: true });
  const all = { 'stations.ndjson': lines(rows.stations), 'readings.ndjson': lines(rows.readings), ...files };
  for (const [name, content] of Object.entries(all)) await writeFile(join(path, name), content);
  const described = {
    ...manifestOf(),
    collections: { stations: { file: 'stations.ndjson' }, readings: { file: 'readings.ndjson' } },
    ...manifest,
  };
  await writeFile(join(path, 'manifest.json'), JSON.stringify(described));
};

export const readManifestFile = async (path: string) => JSON.parse(await readFile(join(path, 'manifest.json'), 'utf8'));

export const eachInFolder = (): { readonly path: string } => {
  const folder = { path: '' };
  beforeEach(async () => {
    folder.path = await mkdtemp(join(tmpdir(), 'dataset-'));
  });
  afterEach(() => rm(folder.path, { recursive: true, force: true }));
  return folder;
};

/** Writes a synthetic table of house sales with ten columns and about 190 bytes of JSON per row. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Collection, Document, Manifest } from '../core/contracts/dataset.js';
import { DECLARATION } from '../core/data/declarations.js';
import { writeDirectory } from '../core/data/write-directory.js';
import { randomFrom } from '../plugins/metro/sample/random.js';

const BATCH = 2000;
const DAYS = 3650;
const FIRST_DAY = Date.parse('2015-01-01');
export const KINDS = [
  'apartment',
  'bungalow',
  'condo',
  'cottage',
  'duplex',
  'farm',
  'house',
  'loft',
  'studio',
  'villa',
];
export const CITIES = Array.from({ length: 500 }, (_, i) => `City ${String(i).padStart(3, '0')}`);

export const saleId = (row: number): string => `S${String(row).padStart(8, '0')}`;
export const dayAt = (day: number): string => new Date(FIRST_DAY + day * 86_400_000).toISOString().slice(0, 10);

const text = { type: 'string', minLength: 1 };
const PROPERTIES = {
  id: text,
  sold_on: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' },
  city: text,
  kind: text,
  price: { type: 'integer', minimum: 0 },
  area: { type: 'number' },
  rooms: { type: 'integer' },
  built: { type: 'integer' },
  score: { type: 'number' },
  note: { type: ['string', 'null'] },
};

export const sales: Collection = {
  name: 'sales',
  key: ['id'],
  search: ['note'],
  orders: [
    ['kind', 'price', 'id'],
    ['city', 'sold_on', 'id'],
    ['sold_on', 'id'],
    ['price', 'id'],
    ['kind', 'rooms', 'price', 'id'],
  ],
  schema: {
    type: 'object',
    required: Object.keys(PROPERTIES),
    additionalProperties: false,
    properties: PROPERTIES,
    examples: [
      {
        ...{ id: saleId(0), sold_on: dayAt(0), city: CITIES[0], kind: 'house', price: 250_000, area: 101.5 },
        ...{ rooms: 4, built: 1990, score: 0.5, note: null },
      },
    ],
  },
};

async function* batches(count: number): AsyncGenerator<readonly Document[]> {
  const random = randomFrom('sales');
  const below = (limit: number): number => Math.floor(random.uniform() * limit);
  for (let start = 0; start < count; start += BATCH) {
    yield Array.from({ length: Math.min(BATCH, count - start) }, (_, i) => ({
      ...{ id: saleId(start + i), sold_on: dayAt(below(DAYS)), city: CITIES[below(CITIES.length)] },
      ...{ kind: KINDS[below(KINDS.length)], price: 50_000 + below(2_000_000), area: 20 + below(5000) / 10 },
      ...{ rooms: 1 + below(9), built: 1900 + below(120), score: below(10_000) / 10_000 },
      note: i % 4 === 0 ? `Sold after ${below(400)} days` : null,
    }));
  }
}

export const writeRows = async (directory: string, count: number): Promise<void> => {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, `${sales.name}${DECLARATION}`), JSON.stringify(sales));
  const dates = { created: '2026-01-01T00:00:00Z', vintage: '2025-12-31' };
  const manifest: Manifest = { format: 1, version: `sales-${count}`, ...dates, synthetic: true, sources: [] };
  await writeDirectory(directory, manifest, { [sales.name]: batches(count) });
};

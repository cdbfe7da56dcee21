/** A service with two tables and their pages: books by year, and the daily weather at three stations. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { register } from '../../cli/commands/import-table.js';
import { MemoryKeyStore } from '../../core/keys/memory-key-store.js';
import { createApp } from '../../product.js';
import { BROWSED } from './browser.js';
import { runCommand } from './run-command.js';
import { addKey } from './test-app.js';

const BOOKS = `isbn,title,author,published,pages
9780141439518,Pride and Prejudice,Jane Austen,1813,480
9780141439587,Emma,Jane Austen,1815,512
9780141439600,A Tale of Two Cities,Charles Dickens,1859,544
9780141441146,Jane Eyre,Charlotte Brontë,1847,
`;

/** Each station has more rows than a table page loads. */
const DAYS = 2000;
const dayAfter = (days: number) => new Date(Date.UTC(2020, 0, 1 + days)).toISOString().slice(0, 10);

export const weather = ['Bergen', 'Oslo', 'Tromsø'].flatMap((station, north) =>
  Array.from({ length: DAYS }, (_, day) => ({ station, day: dayAfter(day), degrees: (day % 40) - 10 * north })).filter(
    ({ station, day }) => station !== 'Oslo' || day !== dayAfter(3),
  ),
);

/** @param options.sales number of rows of a third table. Default: no such table */
export const startTableService = async ({ anonymous = false, sales = 0 } = {}) => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-tables-'));
  const data = join(folder, 'data');
  const load = async (name: string, csv: string, ...options: readonly string[]) => {
    await writeFile(join(folder, name), csv);
    const { error } = await runCommand(register, ['import-csv', join(folder, name), '--to', data, ...options]);
    if (error) throw error;
  };
  await load(
    'books.csv',
    BOOKS,
    '--collection',
    'books',
    '--key',
    'isbn',
    '--sort',
    'published',
    '--type',
    'isbn=text',
  );
  const lines = weather.map(({ station, day, degrees }) => `${station},${day},${degrees}\n`);
  await load(
    'weather.csv',
    `station,day,degrees\n${lines.join('')}`,
    '--collection',
    'weather',
    '--key',
    'station,day',
  );
  if (sales > 0) {
    const rows = Array.from({ length: sales }, (_, id) => `${id},${id % 2 === 0},${id % 3 === 0 ? 'loft' : 'house'}\n`);
    await load('sales.csv', `id,sold,type\n${rows.join('')}`, '--collection', 'sales', '--key', 'id');
  }
  const keyStore = new MemoryKeyStore();
  const { key } = await addKey(keyStore);
  const app = await createApp(
    {
      service: { name: 'library', title: 'Library catalogue', summary: 'Books, and the weather to read them in.' },
      adapter: { use: 'json', options: { path: data } },
      plugins: [{ use: 'tables', options: { path: data } }, 'table-pages', 'status'],
      auth: anonymous
        ? { keys: 'memory', tiers: { public: {}, enterprise: {} }, anonymous: 'public' }
        : { keys: 'memory' },
      http: { responseCheck: 'refuse' },
      log: { level: 'silent' },
      limits: { requestsPerMinute: 100_000 },
      server: BROWSED,
    },
    { keyStore },
  );
  const { url } = await app.listen();
  return {
    app,
    key,
    origin: new URL(url).origin,
    url,
    async close() {
      await app.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

import { CITIES, dayAt, KINDS, saleId } from './rows-dataset.js';
import { BASE } from './service.js';

type Path = (below: (limit: number) => number, rows: number) => string;

export type RowsRequest = readonly [title: string, path: Path];

const after = (id: string): string => Buffer.from(JSON.stringify(['id', id])).toString('base64url');

export const ROW_BY_KEY = 'Row by key';
export const PAGE = 'Page of 100';

export const LOOKUPS: readonly RowsRequest[] = [
  [ROW_BY_KEY, (below, rows) => `${BASE}/sales/${saleId(below(rows))}`],
  [PAGE, (below) => `${BASE}/sales?limit=100&sort=id&after=${after(saleId(below(100)))}`],
  [
    'Deep page of 100',
    (below, rows) => `${BASE}/sales?limit=100&sort=id&after=${after(saleId(rows / 2 + below(rows / 4)))}`,
  ],
  [
    'Filter by category, 100 rows',
    (below) => `${BASE}/sales?kind=${KINDS[below(KINDS.length)]}&sort=kind&limit=${90 + below(11)}`,
  ],
  [
    'Two filters, sorted, 100 rows',
    (below) =>
      `${BASE}/sales?city=${encodeURIComponent(CITIES[below(CITIES.length)]!)}` +
      `&sold_on%5Bgte%5D=${dayAt(below(2000))}&sort=city&limit=100`,
  ],
  [
    'Range of dates, 100 rows',
    (below) =>
      `${BASE}/sales?sold_on%5Bgte%5D=${dayAt(below(3000))}&sold_on%5Blte%5D=${dayAt(3640)}&sort=sold_on&limit=100`,
  ],
];

/** Queries that read the whole table or its word index. */
export const QUESTIONS: readonly RowsRequest[] = [
  ['Values of a column with counts', (below) => `${BASE}/totals/sales?by=city&sort=-count&limit=${20 + below(80)}`],
  ['Totals by one column', (below) => `${BASE}/totals/sales?by=kind&of=price&limit=${10 + below(90)}`],
  ['Totals by two columns', (below) => `${BASE}/totals/sales?by=kind%2Crooms&of=price&limit=${90 + below(10)}`],
  ['Search, 100 rows', (below) => `${BASE}/sales?q=sold%20${below(400)}&sort=id&limit=100`],
];

export const titled = (rows: number, what: string): string => `${rows.toLocaleString('en-US')} rows: ${what}`;

export const lookupsTitle = (rows: number): string => titled(rows, 'CPU per request in microseconds, without a cache');

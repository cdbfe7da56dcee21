/** Datasette and ROAPI get the requests of the service as SQL. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { onPath } from '../test/support/binaries.js';
import { freePort } from '../test/support/server-process.js';
import { say } from './bench.js';
import type { Message } from './client.js';
import type { ServerCommand } from './server.js';

interface SqlPeer {
  readonly name: string;
  readonly command: ServerCommand;
  readonly ask: (path: string) => Message;
}

const ORDERS: Readonly<Record<string, string>> = {
  ...{ id: 'id', kind: 'kind, price, id', city: 'city, sold_on, id', sold_on: 'sold_on, id' },
};
const COUNT = 'count(*) AS count';
const MEASURES = `${COUNT}, sum(price) AS sum, avg(price) AS mean, min(price) AS min, max(price) AS max`;

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const totalsSql = (query: URLSearchParams): string => {
  const by = query.get('by')!;
  const order = query.has('sort') ? `count(*) DESC, ${by}` : by;
  const measures = query.has('of') ? MEASURES : COUNT;
  return `SELECT ${by}, ${measures} FROM sales GROUP BY ${by} ORDER BY ${order} LIMIT ${query.get('limit')}`;
};

/** Translates a request to SQL. @param search returns the condition that finds rows with all words */
export const sqlOf = (path: string, search: (words: readonly string[]) => string): string => {
  const { pathname, searchParams: query } = new URL(path, 'http://bench');
  if (pathname.includes('/totals/')) return totalsSql(query);
  const limit = query.get('limit');
  if (limit === null) return `SELECT * FROM sales WHERE id = ${quoted(basename(pathname))}`;
  const conditions = Object.entries({ kind: '=', city: '=', 'sold_on[gte]': '>=', 'sold_on[lte]': '<=' })
    .filter(([name]) => query.has(name))
    .map(([name, operator]) => `${name.split('[')[0]} ${operator} ${quoted(query.get(name)!)}`);
  const after = query.get('after');
  if (after !== null) conditions.push(`id > ${quoted(JSON.parse(Buffer.from(after, 'base64url').toString())[1])}`);
  const words = query.get('q');
  if (words !== null) conditions.push(search(words.split(' ')));
  return `SELECT * FROM sales WHERE ${conditions.join(' AND ')} ORDER BY ${ORDERS[query.get('sort')!]} LIMIT ${limit}`;
};

const isCsv = (path: string): boolean => path.endsWith('format=csv');

const wordsInIndex = (words: readonly string[]): string =>
  `id IN (SELECT id FROM words WHERE words MATCH ${quoted(words.map((word) => `"${word}"`).join(' '))})`;

/** ROAPI has no text index, so it compares every row. */
const wordsInText = (words: readonly string[]): string =>
  words.map((word) => `concat(' ', lower(note), ' ') LIKE ${quoted(`% ${word} %`)}`).join(' AND ');

/** The program does not print its URL, so the shell does. */
const launch = (port: number, program: readonly string[]): readonly string[] => [
  ...['sh', '-c', 'echo "$0"; exec "$@" >/dev/null 2>&1', `http://127.0.0.1:${port}`],
  ...program,
];

const datasette = async (program: string, database: string): Promise<Omit<SqlPeer, 'name'>> => {
  const port = await freePort();
  const settings = ['sql_time_limit_ms 60000', 'max_csv_mb 0'].flatMap((each) => ['--setting', ...each.split(' ')]);
  const command = launch(port, [
    ...[program, 'serve', database, '--host', '127.0.0.1', '--port', String(port)],
    ...settings,
  ]);
  const root = `/${basename(database, '.db')}`;
  return {
    command: { command, probe: '/-/versions.json', key: '' },
    ask: (path) =>
      isCsv(path)
        ? { path: `${root}/sales.csv?_stream=on` }
        : { path: `${root}.json?${new URLSearchParams({ _shape: 'array', sql: sqlOf(path, wordsInIndex) })}` },
  };
};

const roapi = async (program: string, rows: string): Promise<Omit<SqlPeer, 'name'>> => {
  const port = await freePort();
  const command = launch(port, [
    ...[program, '--addr-http', `127.0.0.1:${port}`, '--addr-postgres', '127.0.0.1:0'],
    ...['--addr-flight-sql', '127.0.0.1:0', '--table', `sales=${rows},format=ndjson`],
  ]);
  return {
    command: { command, probe: '/api/schema', key: '' },
    ask: (path) =>
      isCsv(path)
        ? { path: '/api/tables/sales', headers: { Accept: 'application/csv' } }
        : { method: 'POST', path: '/api/sql', body: sqlOf(path, wordsInText) },
  };
};

const find = (name: string): string | undefined => {
  const variable = name.toUpperCase();
  const program = process.env[variable] ?? onPath(name);
  if (!program)
    say(`Skipping ${name}: run \`pip install ${name}\`, and put it on the PATH or its path in ${variable}.`);
  return program;
};

const version = (program: string): string =>
  /\d+(\.\d+)+/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[0] ?? '';

export const sqlPeers = async (dataset: string, database: string): Promise<readonly SqlPeer[]> => {
  const { collections } = JSON.parse(readFileSync(join(dataset, 'manifest.json'), 'utf8'));
  const programs = { datasette: find('datasette'), roapi: find('roapi') };
  const peers: SqlPeer[] = [];
  if (programs.datasette)
    peers.push({
      name: `Datasette ${version(programs.datasette)}`,
      ...(await datasette(programs.datasette, database)),
    });
  if (programs.roapi)
    peers.push({
      name: `ROAPI ${version(programs.roapi)}`,
      ...(await roapi(programs.roapi, join(dataset, collections.sales.file))),
    });
  return peers;
};

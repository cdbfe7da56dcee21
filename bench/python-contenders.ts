/** Datasette and ROAPI, from PyPI: installed once for this machine, outside the tree, and left out where that fails. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sqlite from 'node-sqlite3-wasm';
import type { Document } from '../core/contracts/dataset.js';
import { openDirectory } from '../core/data/directory.js';
import { cacheFolder } from '../test/support/cache-folder.js';
import type { Bench } from './bench.js';
import type { ServerCommand } from './server.js';

const run = promisify(execFile);
const PACKAGES = ['datasette==0.65.5', 'roapi==0.12.7'];
const environment = join(cacheFolder, 'bench-python');

const install = async ({ say }: Bench): Promise<boolean> => {
  const done = ['datasette', 'roapi'].every((name) => existsSync(join(environment, 'bin', name)));
  if (done) return true;
  say(`Installing ${PACKAGES.join(' and ')} into ${environment} ...`);
  try {
    await run('python3', ['-m', 'venv', environment]);
    await run(join(environment, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', ...PACKAGES]);
    return true;
  } catch (error) {
    say(`Datasette and ROAPI are left out: they could not be installed (${String(error).split('\n')[0]}).`);
    return false;
  }
};

let installed: Promise<boolean> | undefined;
const available = (bench: Bench): Promise<boolean> => {
  installed ??= install(bench);
  return installed;
};

const fileOf = async (bench: Bench, collection: string): Promise<string> => {
  const { manifest } = await openDirectory(bench.dataset);
  return join(bench.dataset, manifest.collections[collection]!.file);
};

export const roapiCommand = async (bench: Bench, port: number): Promise<ServerCommand | undefined> => {
  if (!(await available(bench))) return undefined;
  const tables = await Promise.all(
    ['markets', 'hpi'].map(async (name) => ['--table', `${name}=${await fileOf(bench, name)},format=ndjson`]),
  );
  return {
    command: [join(environment, 'bin/roapi'), '--addr-http', `127.0.0.1:${port}`, ...tables.flat()],
    origin: `http://127.0.0.1:${port}`,
    probe: '/api/tables/markets?limit=1',
    key: bench.key,
  };
};

/** The two collections as indexed tables. */
const writeDatabase = async (bench: Bench, path: string): Promise<void> => {
  const { dataset } = await openDirectory(bench.dataset);
  const database = new sqlite.Database(path);
  const fill = async (name: string, definition: string, columns: readonly string[]): Promise<void> => {
    database.exec(`CREATE TABLE ${name} (${definition})`);
    const insert = database.prepare(`INSERT INTO ${name} VALUES (${columns.map(() => '?').join()})`);
    database.exec('BEGIN');
    for await (const batch of dataset.read(name) as AsyncIterable<readonly Document[]>) {
      for (const row of batch) insert.run(columns.map((column) => row[column] as string | number | null));
    }
    database.exec('COMMIT');
    insert.finalize();
  };
  try {
    const columns = ['id', 'cbsa', 'name', 'signal', 'risk_score', 'yoy_price', 'forecast_12m'];
    await fill(
      'markets',
      'id INTEGER, cbsa TEXT PRIMARY KEY, name TEXT, signal TEXT, risk_score TEXT, yoy_price REAL, forecast_12m REAL',
      columns,
    );
    const definition = 'cbsa TEXT, period_start TEXT, value REAL, PRIMARY KEY (cbsa, period_start)';
    await fill('hpi', definition, ['cbsa', 'period_start', 'value']);
  } finally {
    database.close();
  }
};

export const datasetteCommand = async (bench: Bench, port: number): Promise<ServerCommand | undefined> => {
  if (!(await available(bench))) return undefined;
  const path = join(bench.folder, 'bench.db');
  if (!existsSync(path)) await writeDatabase(bench, path);
  return {
    command: [join(environment, 'bin/datasette'), 'serve', '--immutable', path, '--port', String(port)],
    origin: `http://127.0.0.1:${port}`,
    probe: '/bench/markets.json?_size=1',
    key: bench.key,
  };
};

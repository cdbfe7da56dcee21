import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';
import { installPacked } from '../support/packed.js';

const run = promisify(execFile);

const FOLDERS = { tables: 'plugins/tables', metro: 'plugins/metro', json: 'adapters/json' } as const;

const TOOLS = [
  '@types/d3-geo',
  '@types/geojson',
  '@types/mocha',
  '@types/topojson-client',
  '@types/topojson-simplify',
  '@types/topojson-specification',
  'd3-geo',
  'fast-check',
  'mocha',
  'pure-rand',
  'topojson-client',
  'topojson-simplify',
  'us-atlas',
];

const METRO = [
  'endpoints/markets',
  'endpoints/forecasts',
  'endpoints/observations',
  'endpoints/signals',
  'explorer/index',
];

const BOOKS = `isbn,title,author,published,pages
9780141439518,Pride and Prejudice,Jane Austen,1813,480
9780141439587,Emma,Jane Austen,1815,512
9780141441146,Jane Eyre,Charlotte Brontë,1847,
`;

describe('a package with copies of built-in folders, and this package from its tarball', () => {
  let folder: string;
  let compilerErrors: string;
  const main = () => join(folder, 'node_modules/metro-forecast-api/cli/metro-forecast.js');

  const responsesOf = async (name: string, config: object): Promise<Record<string, [status: number, body: string]>> => {
    const path = join(folder, `${name}.json`);
    await writeFile(path, JSON.stringify({ auth: { keys: 'memory' }, log: { level: 'error' }, ...config }));
    const { stdout } = await run(process.execPath, ['responses.js', path], { cwd: folder, maxBuffer: 2 ** 28 });
    return JSON.parse(stdout);
  };

  before(async function () {
    this.timeout(180_000);
    folder = await mkdtemp(join(tmpdir(), 'copied-'));
    await cp(join(packageRoot, 'test/packages/copied'), folder, { recursive: true });
    for (const [name, path] of Object.entries(FOLDERS)) {
      await cp(join(packageRoot, path), join(folder, name), { recursive: true });
    }
    await installPacked(folder, TOOLS);
    const tsc = join(packageRoot, 'node_modules/typescript/bin/tsc');
    compilerErrors = await run(process.execPath, [tsc, '--project', folder]).then(
      ({ stdout }) => stdout,
      ({ stdout }: { stdout: string }) => stdout,
    );
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('compiles', () => {
    expect(compilerErrors).to.equal('');
  });

  it('plugins/metro responds as the built-in plugins do', async function () {
    this.timeout(120_000);
    const adapter = { use: 'json', options: { path: 'metro/dataset' } };
    const others = ['status', 'docs'];
    const builtin = await responsesOf('builtin', {
      adapter,
      plugins: ['markets', 'forecasts', 'observations', 'signals', 'explore', ...others],
    });
    const copied = await responsesOf('copied', {
      adapter,
      plugins: [...METRO.map((path) => `./metro/${path}.js`), ...others],
    });
    expectEqual(copied, builtin);
    expect(Object.keys(builtin).length).to.be.greaterThan(80);
  });

  it('plugins/tables responds as the built-in plugin does', async function () {
    this.timeout(120_000);
    await writeFile(join(folder, 'books.csv'), BOOKS);
    const args = [
      'import-table',
      'books.csv',
      '--to',
      'data',
      '--collection',
      'books',
      '--key',
      'isbn',
      '--sort',
      'published',
    ];
    await run(process.execPath, [main(), ...args], { cwd: folder });
    const adapter = { use: 'json', options: { path: 'data' } };
    const options = { path: 'data' };
    const builtin = await responsesOf('builtin', {
      adapter,
      plugins: [{ use: 'tables', options }, 'table-pages', 'status'],
    });
    const copied = await responsesOf('copied', {
      adapter: { ...adapter, use: './json/index.js' },
      plugins: [{ use: './tables/index.js', options }, './tables/pages.js', 'status'],
    });
    expectEqual(copied, builtin);
    expect(Object.keys(builtin).some((url) => url.startsWith('/tables/books/') || url.includes('books'))).to.equal(
      true,
    );
  });

  it('adapters/json passes the conformance suite', async function () {
    this.timeout(180_000);
    const mocha = join(folder, 'node_modules/mocha/bin/mocha.js');
    const args = [mocha, '--reporter', 'json', '--timeout', '20000', 'conformance.test.js'];
    const { stdout } = await run(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26 }).catch(
      (error: { stdout: string }) => error,
    );
    const { stats, failures } = JSON.parse(stdout) as {
      readonly stats: { readonly passes: number };
      readonly failures: readonly { readonly fullTitle: string; readonly err: { readonly message: string } }[];
    };
    expect(failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message}`)).to.deep.equal([]);
    expect(stats.passes).to.be.greaterThan(150);
  });
});

/** Compares responses without times and without the digests in URLs of page files. The digests depend on file times. */
const expectEqual = (copied: Record<string, [number, string]>, builtin: Record<string, [number, string]>): void => {
  expect(Object.keys(copied)).to.have.members(Object.keys(builtin));
  const comparable = ([status, body]: [number, string]) => [
    status,
    body.replace(/"(generated_at|updated_at|started_at|age_seconds)":("[^"]*"|\d+)/g, '"$1":null'),
  ];
  for (const [url, response] of Object.entries(builtin)) {
    expect(comparable(copied[url]!), url).to.deep.equal(comparable(response));
    expect(response[0], url).to.be.below(500);
  }
};

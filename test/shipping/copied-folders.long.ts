import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';
import { installPacked } from '../support/packed.js';

const run = promisify(execFile);

const FOLDERS = ['plugins/tables', 'plugins/metro', 'adapters/json'];

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
    for (const path of FOLDERS) await cp(join(packageRoot, path), join(folder, path), { recursive: true });
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
    const adapter = { use: 'json', options: { path: 'plugins/metro/dataset' } };
    const others = ['status', 'docs'];
    const builtin = await responsesOf('builtin', {
      adapter,
      plugins: ['markets', 'forecasts', 'observations', 'signals', 'explore', ...others],
    });
    const copied = await responsesOf('copied', {
      adapter,
      plugins: [...METRO.map((path) => `./plugins/metro/${path}.js`), ...others],
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
      adapter: { ...adapter, use: './adapters/json/index.js' },
      plugins: [{ use: './plugins/tables/index.js', options }, './plugins/tables/pages.js', 'status'],
    });
    expectEqual(copied, builtin);
    expect(Object.keys(builtin).some((url) => url.startsWith('/tables/books/') || url.includes('books'))).to.equal(
      true,
    );
  });

  describe('with the tests of the folders', () => {
    before(async () => {
      await linkMissing(join(packageRoot, 'node_modules'), join(folder, 'node_modules'));
      await linkMissing(join(folder, 'node_modules/metro-forecast-api/dist'), folder);
      for (const path of ['support', 'plugins/tables', 'plugins/metro', 'adapters']) {
        await cp(join(packageRoot, 'dist/test', path), join(folder, 'test', path), { recursive: true });
      }
    });

    const testsOf = [
      ['plugins/tables', 'test/plugins/tables/**/*.test.js', 80],
      ['plugins/metro', 'test/plugins/metro/**/*.test.js', 80],
      ['adapters/json', 'test/adapters/json*.test.js', 150],
    ] as const;
    for (const [path, files, least] of testsOf) {
      it(`${path} passes its tests`, async function () {
        this.timeout(600_000);
        const args = ['node_modules/mocha/bin/mocha.js', '--reporter', 'json', '--timeout', '60000', files];
        const { stdout } = await run(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26 }).catch(
          (error: { stdout: string }) => error,
        );
        const { stats, failures } = JSON.parse(stdout) as {
          readonly stats: { readonly passes: number };
          readonly failures: readonly { readonly fullTitle: string; readonly err: { readonly message: string } }[];
        };
        expect(failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message}`)).to.deep.equal([]);
        expect(stats.passes).to.be.greaterThan(least);
      });
    }
  });
});

/** Compares responses, except for timestamps and ages. */
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

/**
 * Creates a link in `to` for each entry of `from` that `to` does not have. If both folders contain an npm scope,
 * `adapters` or `plugins`, does the same inside these folders.
 */
const linkMissing = async (from: string, to: string): Promise<void> => {
  const present = new Map((await readdir(to, { withFileTypes: true })).map((entry) => [entry.name, entry]));
  for (const { name } of await readdir(from, { withFileTypes: true })) {
    const entry = present.get(name);
    if (!entry) await symlink(join(from, name), join(to, name));
    else if (entry.isDirectory() && /^(@|adapters$|plugins$)/.test(name))
      await linkMissing(join(from, name), join(to, name));
  }
};

import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import Database from 'libsql';
import { find } from '../../../adapters/conformance/find-rows.js';
import { withSnapshot } from '../../../adapters/conformance/instance.js';
import sqlite from '../../../adapters/sqlite/index.js';
import { register as registerDoctor } from '../../../cli/commands/doctor.js';
import { register as registerImport } from '../../../cli/commands/import-table.js';
import { register as registerInit } from '../../../cli/commands/init.js';
import { register as registerKeys } from '../../../cli/commands/keys.js';
import { sqliteAdvice } from '../../../cli/large-dataset.js';
import { readDeclarations } from '../../../core/data/declarations.js';
import { contextIn } from '../../adapters/sqlite-store.js';
import { expecting, runCommand } from '../../support/run-command.js';
import { skip } from '../../support/skip.js';

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly message: string;
  readonly advice?: readonly string[];
}

describe('commands with a database file', () => {
  let folder: string;
  const at = (name: string): string => join(folder, name);
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sqlite-commands-'));
    await writeFile(at('permits.csv'), 'no,city\n1,Oslo\n2,Bergen\n3,Oslo\n');
    await writeFile(at('areas.csv'), 'code,name\na,Alpha\nb,Beta\n');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const { done, refused } = expecting((file, ...options) =>
    runCommand(registerImport, ['import-table', at(file as string), '--to', at('service/data.db'), ...options]),
  );

  const tables = async () => {
    const declared = readDeclarations(at('service'));
    const context = contextIn(at('service'), new Map(declared.map((each) => [each.name, each])));
    const adapter = sqlite.create({ path: 'data.db' }, context);
    try {
      await adapter.open();
      return await withSnapshot({ adapter }, async (snapshot) => {
        const rows = await Promise.all(declared.map(async (each) => [each.name, await find(snapshot, each)] as const));
        return Object.fromEntries(rows);
      });
    } finally {
      await adapter.close();
    }
  };

  const PERMITS = [
    { no: 1, city: 'Oslo' },
    { no: 2, city: 'Bergen' },
    { no: 3, city: 'Oslo' },
  ];
  const AREAS = [
    { code: 'a', name: 'Alpha' },
    { code: 'b', name: 'Beta' },
  ];

  it('import-table --to data.db creates the file with its declaration, and reports the configuration', async () => {
    const { stdout } = await done('permits.csv', '--key', 'no', '--sort', 'city');
    expect(stdout).to.match(/service\/data\.db is now version \d{4}-\d\d-\d\d-[0-9a-f]{12}, with 3 rows of permits:/);
    expect(stdout).to.include(JSON.stringify({ use: 'tables', options: { path: at('service') } }));
    expect(stdout).to.include(JSON.stringify({ use: 'sqlite', options: { path: at('service/data.db') } }));
    expect(await tables()).to.deep.equal({ permits: PERMITS });
    expect(await readdir(at('service'))).to.include.members(['data.db', 'permits.collection.json']);
    expect((await readdir(at('service'))).filter((name) => name.startsWith('.'))).to.deep.equal([]);
  });

  it('import-table creates a file that only its owner can read, since it may get keys', async function () {
    if (process.platform === 'win32') skip(this, 'Windows has no file modes');
    await done('permits.csv', '--key', 'no');
    for (const { name } of await readdir(at('service'), { withFileTypes: true }))
      if (name.startsWith('data.db')) expect((await stat(at(`service/${name}`))).mode & 0o777, name).to.equal(0o600);
  });

  it('import-table keeps the other tables, and replaces a table of the same name', async () => {
    await done('permits.csv', '--key', 'no');
    await done('areas.csv');
    expect(await tables()).to.deep.equal({ areas: AREAS, permits: PERMITS });
    await writeFile(at('permits.csv'), 'no,city\n4,Tromsø\n');
    await done('permits.csv', '--key', 'no');
    expect(await tables()).to.deep.equal({ areas: AREAS, permits: [{ no: 4, city: 'Tromsø' }] });
  });

  for (const [order, last] of [
    ['sorted', 'd,"a ""quoted"" cell",-1.5e-7,0.0000001,2026-02-01,2026-01-01T10:00Z,no,7'],
    ['unsorted', 'aa,\\ and 😀,-0,100,2026-02-01,2026-01-01T10:00Z,no,7'],
  ] as const) {
    it(`import-table writes the same rows and version to a database as to a directory if the file is ${order}`, async () => {
      const lines = [
        'id,note,price,share,sold_on,at,isnew,rooms',
        'a,,1.50,0.10,2026-01-31,2026-01-01 10:00:00Z,yes,3',
        'b,Ærøskøbing,,12,,,,-0',
        'c,"two\nlines",1e3,-0.0,2026-02-28,2026-01-01T10:00:00+02:00,yes,123456789012',
        last,
      ];
      await writeFile(at('sales.csv'), `${lines.join('\n')}\n`);
      const options = [
        '--key',
        'id',
        '--search',
        'note',
        '--type',
        'isnew=boolean',
        '--created',
        '2026-01-01T00:00:00Z',
      ];
      await done('sales.csv', ...options);
      const imported = await runCommand(registerImport, [
        ...['import-table', at('sales.csv'), '--to', at('dataset'), '--json', ...options],
      ]);
      const file = (await readdir(at('dataset'))).find((name) => name.endsWith('.ndjson'))!;
      const rows = await readFile(at(`dataset/${file}`), 'utf8');
      const db = new Database(at('service/data.db'));
      const [version, collections] = db.prepare('SELECT name, collections FROM version').raw().get() as string[];
      const { table } = JSON.parse(collections!).sales;
      const stored = db.prepare(`SELECT json, c1, c2, c3 FROM ${table} ORDER BY rowid`).raw().all() as unknown[][];
      db.close();
      expect(stored.map(([json]) => `${json}\n`).join('')).to.equal(rows);
      expect(version).to.equal(JSON.parse(imported.stdout).version);
      const published = rows
        .trimEnd()
        .split('\n')
        .map((row) => JSON.parse(row));
      expect(stored.map(([, ...numbers]) => numbers)).to.deep.equal(
        published.map(({ price, share, rooms }) => [price, share, rooms]),
      );
    });
  }

  it('import-table changes only the declared orders when it imports the same file again', async () => {
    await done('permits.csv', '--key', 'no', '--created', '2026-01-01T00:00:00Z');
    const { stdout } = await done('permits.csv', '--key', 'no', '--created', '2026-01-01T00:00:00Z');
    expect(stdout).to.include('with 3 rows of permits');
    const versions = () => {
      const db = new Database(at('service/data.db'));
      const found = db.prepare('SELECT name FROM version').raw().all();
      db.close();
      return found;
    };
    const before = versions();
    await done('permits.csv', '--key', 'no', '--created', '2026-01-01T00:00:00Z', '--sort', 'city');
    expect(versions()).to.deep.equal(before);
    expect(readDeclarations(at('service'))[0]?.orders).to.deep.equal([['city', 'no']]);
    expect(await tables()).to.deep.equal({ permits: PERMITS });
  });

  it('import-table changes nothing if it fails', async () => {
    await done('permits.csv', '--key', 'no');
    await writeFile(at('permits.csv'), 'no,city\n1,Oslo\n1,Bergen\n');
    expect(await refused('permits.csv', '--key', 'no')).to.match(/line 3: has the same key as line 2/);
    expect(await tables()).to.deep.equal({ permits: PERMITS });
    expect((await readdir(at('service'))).filter((name) => name.startsWith('.'))).to.deep.equal([]);
  });

  it('import-table copies the other tables only after it has read the new one', async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => `${i},Permit number ${i} of a large table`);
    await writeFile(at('permits.csv'), `no,name\n${rows.join('\n')}\n`);
    await done('permits.csv', '--key', 'no');
    const { size } = await stat(at('service/data.db'));
    expect(size).to.be.above(1_000_000);
    await writeFile(at('areas.csv'), 'code,name\na,Alpha\na,Beta\n');
    await refused('areas.csv', '--key', 'code');
    expect((await stat(at('service/data.db'))).size).to.be.below(size + 100_000);
  });

  it('import-table rejects a folder that declares tables of another dataset', async () => {
    await mkdir(at('service'));
    await runCommand(registerImport, ['import-table', at('areas.csv'), '--to', at('service')]);
    expect(await refused('permits.csv', '--key', 'no')).to.include(
      `${at('service')} declares tables that ${at('service/data.db')} does not have: areas.`,
    );
  });

  for (const [dataset, file] of [
    ['service', 'api.json'],
    ['data.db', 'service/api.json'],
  ] as const) {
    it(`init --dataset ${dataset} configures SQLite and the tables`, async () => {
      await done('permits.csv', '--key', 'no');
      const { error } = await runCommand(registerInit, ['init', at(file), '--dataset', dataset]);
      expect(error).to.equal(undefined);
      const { adapter, plugins, auth } = JSON.parse(await readFile(at(file), 'utf8'));
      const path = dataset === 'service' ? 'service' : '.';
      const storage = { use: 'sqlite', options: { path: join(path, 'data.db') } };
      expect([adapter, auth.keys]).to.deep.equal([storage, storage]);
      expect(plugins).to.deep.equal([{ use: 'tables', options: { path } }, 'table-pages', 'status', 'docs']);
    });
  }

  describe('doctor', () => {
    const config = () => at('service/api.json');
    const examine = async (...options: readonly string[]): Promise<Record<string, Finding>> => {
      const before = process.exitCode;
      try {
        const { stdout } = await runCommand(registerDoctor, ['--config', config(), 'doctor', '--json', ...options]);
        const { checks } = JSON.parse(stdout) as { checks: Finding[] };
        return Object.fromEntries(checks.map((each) => [each.check, each]));
      } finally {
        process.exitCode = before;
      }
    };
    const storage = { use: 'sqlite', options: { path: 'data.db' } };
    const configure = async () => {
      await mkdir(at('service'), { recursive: true });
      const plugins = [{ use: 'tables', options: { path: '.' } }];
      await writeFile(config(), JSON.stringify({ adapter: storage, plugins, auth: { keys: storage } }));
    };

    it('checks the file and, with --integrity, its indexes', async () => {
      await done('permits.csv', '--key', 'no', '--sort', 'city');
      await configure();
      await runCommand(registerKeys, ['--config', config(), 'keys', 'create', '--name', 'first']);
      const { storage: served, integrity, dataset, keys } = await examine();
      expect([served, integrity, dataset, keys].map((each) => each?.state)).to.deep.equal(['ok', 'ok', 'ok', 'ok']);
      expect(integrity?.message).to.equal('the file is intact');
      expect(keys?.message).to.equal('sqlite: 1 of 1 keys can be used');

      const db = new Database(at('service/data.db'));
      const roots = `(SELECT sum(rootpage) FROM sqlite_schema WHERE name IN ('rows_1_0_0', 'rows_1_0_1'))`;
      db.exec(
        `PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = ${roots} - rootpage WHERE name GLOB 'rows_1_0_[01]'`,
      );
      db.close();
      expect((await examine())['integrity']?.state).to.equal('ok');
      const { state, message, advice } = (await examine('--integrity'))['integrity']!;
      expect([state, message]).to.deep.equal(['failed', 'the file is damaged; errors: 6']);
      expect(advice?.join()).to.match(/missing from index rows_1_0_/);
      expect(advice?.at(-1)).to.equal('Restore the file from a backup, or publish into a new one.');
    });

    it('reports a missing database, and how to publish', async () => {
      await done('permits.csv', '--key', 'no');
      await configure();
      await rm(at('service/data.db'));
      const { storage: missing, integrity } = await examine();
      expect(missing?.state).to.equal('failed');
      expect(missing?.message).to.equal(`There is no database ${at('service/data.db')}.`);
      expect(missing?.advice?.join()).to.include('publish DIR');
      expect(integrity).to.equal(undefined);
    });
  });

  it('recommends SQLite from 500,000 rows', () => {
    expect(sqliteAdvice(499_999)).to.equal(undefined);
    expect(sqliteAdvice(500_000)).to.match(
      /loads 500,000 rows into the memory of each worker.*docs\/guides\/sqlite\.md$/,
    );
  });
});

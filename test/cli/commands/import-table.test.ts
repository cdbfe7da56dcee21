import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { register } from '../../../cli/commands/import-table.js';
import { readDeclarations } from '../../../core/data/declarations.js';
import { OperatorError } from '../../../core/errors.js';
import { openApiDocument } from '../../../core/openapi/document.js';
import { packageRoot } from '../../../core/util/package.js';
import { loadConfig, loadModules } from '../../../product.js';
import { startProcess } from '../../support/command-process.js';
import { expecting, runCommand } from '../../support/run-command.js';
import { smallDisk } from '../../support/small-disk.js';
import { until } from '../../support/until.js';
import { workbook, zipOf } from '../../support/zip.js';

describe('metro-forecast import-table', () => {
  let folder: string;
  const at = (name: string): string => join(folder, name);
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'import-table-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const { done, refused, json } = expecting((file, ...options) =>
    runCommand(register, ['import-table', file, '--to', at('data'), ...options]),
  );
  const rowsOf = async (collection: string): Promise<readonly object[]> => {
    const file = (await readdir(at('data'))).find(
      (name) => name.startsWith(`${collection}.`) && name.endsWith('.ndjson'),
    )!;
    return (await readFile(join(at('data'), file), 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  };

  it('needs no options: finds and reports the collection, key and types', async () => {
    await writeFile(at('Pool list.csv'), 'Name,No.\nb,"1,000"\na,\n');
    const { stdout } = await done(at('Pool list.csv'));
    expect(stdout)
      .to.match(/with 2 rows of pool_list:/)
      .and.include('\nTo serve the table at /pool-list, use the');
    expect(stdout).to.match(/no +number, guessed: read without thousands separators +1 empty, from "No\."/);
    expect(stdout).to.match(/Read as: CSV in UTF-8, separated by commas\nKey: name, which identifies a row/);
    expect(await rowsOf('pool_list')).to.deep.equal([
      { name: 'a', no: null },
      { name: 'b', no: 1000 },
    ]);
    expect(readDeclarations(at('data')).map(({ name, key }) => [name, key])).to.deep.equal([['pool_list', ['name']]]);
  });

  it('replaces the collection, keeps other collections, and derives the version name from the content', async () => {
    await writeFile(at('a.csv'), 'id\n2\n1\n');
    await writeFile(at('b.csv'), 'id\n1\n');
    const first = await json(at('a.csv'), '--created', '2026-01-02T00:00:00Z');
    await json(at('b.csv'));
    const both = await json(at('a.csv'), '--created', '2026-01-02T00:00:00Z');
    expect(readDeclarations(at('data'))).to.have.length(2);
    expect(first.version).to.match(/^2026-01-02-[0-9a-f]{12}$/);
    expect(both.version).not.to.equal(first.version);
    expect((await json(at('a.csv'), '--created', '2026-01-02T00:00:00Z')).version).to.equal(both.version);
  });

  it('reports that a running service needs a restart if a declaration changed', async () => {
    await writeFile(at('a.csv'), 'id,v\n1,2\n');
    await writeFile(at('b.csv'), 'id\n1\n');
    const restarts = async (file: string) => [
      (await done(file)).stdout.includes('Restart any running'),
      (await json(file)).needsRestart,
    ];
    expect(await restarts(at('a.csv'))).to.deep.equal([false, false]);
    await writeFile(at('a.csv'), 'id,v\n3,4\n');
    expect(await restarts(at('a.csv'))).to.deep.equal([false, false]);
    expect((await done(at('b.csv'))).stdout).to.include(
      'Restart any running service that serves these tables: the declaration of b',
    );
    expect((await done(at('a.csv'), '--sort', 'v')).stdout).to.include('the declaration of a has changed');
    expect((await json(at('a.csv'))).needsRestart).to.equal(false);
  });

  it('imports a workbook with a title and footers, without its footers if --skip-bad-rows is set', async () => {
    const rows: string[][] = [
      ['Title'],
      [],
      ['year', 'v'],
      ['2000', '1'],
      ['2001', '2'],
      ['Source: somewhere'],
      ['Total', '3'],
    ];
    await writeFile(at('a.xlsx'), workbook(rows));
    const { stdout } = await done(at('a.xlsx'), '--key', 'year', '--type', 'year=integer', '--skip-bad-rows');
    expect(stdout)
      .to.match(/with 2 rows of a:/)
      .and.to.include('columns named in line 3');
    expect(stdout).to.include('2 bad rows were skipped: line 6: "year" must be a whole number, not "Source: some');
  });

  it('numbers the rows if no columns identify a row or if asked to', async () => {
    await writeFile(at('a.csv'), 'v,w\n0.5,x\n0.5,x\n');
    expect((await done(at('a.csv'))).stdout).to.match(/Key: row, the row number, because/);
    await writeFile(at('b.csv'), 'id\n7\n');
    await done(at('b.csv'), '--key', 'row');
    expect(await rowsOf('b')).to.deep.equal([{ row: 1, id: 7 }]);
  });

  it('uses the next key if distant rows have equal values', async () => {
    const lines = Array.from({ length: 30_000 }, (_, i) => `n${(i * 7919) % 29_999},${i}\n`);
    await writeFile(at('a.csv'), `name,serial\n${lines.join('')}`);
    expect((await json(at('a.csv'))).key).to.deep.equal(['serial']);
  });

  describe('if the last of 25,000 rows differs from the others', () => {
    const BEFORE = 24_999;
    const write = async (last: string | Buffer) => {
      const lines = Array.from({ length: BEFORE }, (_, i) => `${i + 10},${i % 7},a\n`);
      await writeFile(at('a.csv'), Buffer.concat([Buffer.from(`id,n,note,\n${lines.join('')}`), Buffer.from(last)]));
    };

    const accepted: readonly (readonly [what: string, last: string | Buffer, row: object, why?: RegExp])[] = [
      ['has text in a column of numbers', '99999,x,b', { id: 99999, n: 'x', note: 'b' }, /^line 25001 has "x"/],
      ['has a decimal in a column of integers', '99999,0.5,b', { id: 99999, n: 0.5, note: 'b' }],
      ['has fewer cells', '99999,1', { id: 99999, n: 1, note: null }],
      ['is in another encoding', Buffer.from('99999,1,\xe9\n', 'latin1'), { id: 99999, n: 1, note: 'é' }],
      [
        'has the only value of a column without a heading',
        '99999,1,b,c',
        { id: 99999, n: 1, note: 'b', column_4: 'c' },
      ],
    ];
    for (const [what, last, row, why] of accepted) {
      it(`imports a row that ${what}`, async () => {
        await write(last);
        const { rows, columns, key } = (await json(at('a.csv'))) as {
          readonly rows: number;
          readonly columns: readonly { readonly name: string; readonly why?: string }[];
          readonly key: readonly string[];
        };
        expect([rows, key]).to.deep.equal([BEFORE + 1, ['id']]);
        if (why) expect(columns.find(({ name }) => name === 'n')?.why).to.match(why);
        expect((await rowsOf('a')).at(-1)).to.deep.equal(row);
      });
    }

    it('sorts a row that belongs to the start, and adds a column to a key that it repeats', async () => {
      await write('5,1,b');
      await done(at('a.csv'));
      expect((await rowsOf('a'))[0]).to.deep.equal({ id: 5, n: 1, note: 'b' });
      await write('10,1,b');
      expect((await json(at('a.csv'), '--redeclare')).key).to.deep.equal(['id', 'note']);
    });

    const rejected: readonly (readonly [last: string, error: string, ...options: string[]])[] = [
      ['99999,1,b,,,c', 'line 25001: has 6 cells, but the table has 4 columns'],
      ['99999,1,"b', 'line 25001: has a quote that is not closed'],
      ['99999,x,b', 'must be a whole number, but line 25001 has "x"', '--type', 'n=integer'],
      ['99999,,b', '"n" is empty in 1 row: a column to sort by needs a value', '--sort', 'n'],
      ['10,1,b', 'line 25001: has the same key as line 2: id 10', '--key', 'id'],
    ];
    for (const [last, error, ...options] of rejected) {
      it(`rejects ${[last, ...options].join(' ')}`, async () => {
        await write(last);
        expect(await refused(at('a.csv'), ...options)).to.include(error);
        expect(await readdir(folder)).to.deep.equal(['a.csv']);
      });
    }
  });

  const rows = [
    { id: 'a', n: 1 },
    { id: 'b', n: 2.5 },
  ];
  const csv = 'id,n\na,1\nb,2.5\n';
  for (const [name, content] of [
    ['a.csv.gz', () => gzipSync(csv)],
    ['a.zip', () => zipOf({ 'a.csv': csv })],
    ['a.json', () => JSON.stringify(rows)],
    [
      'a.parquet',
      () =>
        parquetWriteBuffer({
          columnData: [
            { name: 'id', data: ['a', 'b'], type: 'STRING' },
            { name: 'n', data: [1, 2.5], type: 'DOUBLE' },
          ],
        }),
    ],
    [
      'a.xlsx',
      () =>
        workbook([
          ['id', 'n'],
          ['a', 1],
          ['b', 2.5],
        ]),
    ],
  ] as readonly (readonly [string, () => string | Uint8Array | ArrayBuffer])[]) {
    it(`reads ${name}`, async () => {
      const bytes = content();
      await writeFile(at(name), typeof bytes === 'string' ? bytes : new Uint8Array(bytes));
      await done(at(name));
      expect(await rowsOf('a')).to.deep.equal(rows);
    });
  }

  it('reads times in Parquet to the nanosecond', async () => {
    const column = (name: string, unit: 'MICROS' | 'NANOS', isAdjustedToUTC: boolean, data: bigint[]) => ({
      schema: { name, type: 'INT64', logical_type: { type: 'TIMESTAMP', unit, isAdjustedToUTC } } as const,
      column: { name, data },
    });
    const columns = [
      column('a', 'MICROS', true, [1_500_000n, -1n]),
      column('b', 'NANOS', true, [1_000_000_001n, 120_000n]),
      column('c', 'MICROS', false, [1_000_001n, 0n]),
    ];
    const schema = [
      { name: 'root', num_children: columns.length },
      ...columns.map((each) => ({ ...each.schema, repetition_type: 'REQUIRED' as const })),
    ];
    const bytes = parquetWriteBuffer({ columnData: columns.map((each) => each.column), schema });
    await writeFile(at('a.parquet'), new Uint8Array(bytes));
    await done(at('a.parquet'), '--key', 'row');
    expect(await rowsOf('a')).to.deep.equal([
      { row: 1, a: '1970-01-01T00:00:01.500Z', b: '1970-01-01T00:00:01.000000001Z', c: '1970-01-01T00:00:01.000001' },
      { row: 2, a: '1969-12-31T23:59:59.999999Z', b: '1970-01-01T00:00:00.00012Z', c: '1970-01-01T00:00:00' },
    ]);
  });

  it('keeps all digits of long integers in a workbook', async () => {
    await writeFile(
      at('a.xlsx'),
      workbook([
        ['id', 'n'],
        [12345678901234567n, 1.1000000000000001],
        [5, 2],
      ]),
    );
    await done(at('a.xlsx'), '--key', 'row');
    expect(await rowsOf('a')).to.deep.equal([
      { row: 1, id: '12345678901234567', n: 1.1 },
      { row: 2, id: '5', n: 2 },
    ]);
  });

  it('reads times in a workbook to the second, and fractions of a second', async () => {
    const times = Array.from({ length: 600 }, (_, i) => new Date(Date.UTC(1948, 0, 1, 14, 57, i)));
    const cells = [...times, new Date(Date.UTC(1948, 0, 1, 14, 57, 13, 500))];
    await writeFile(at('a.xlsx'), workbook([['t', 'n'], ...cells.map((time, i) => [time, i])]));
    await done(at('a.xlsx'), '--key', 'row');
    const written = (time: Date) => time.toISOString().slice(0, 23).replace('T', ' ').replace('.000', '');
    expect((await rowsOf('a')).map((each) => (each as { t: string }).t)).to.deep.equal(cells.map(written));
  });

  it('reads times of day in a workbook, and days before the nonexistent leap day that Excel has in 1900', async () => {
    const days = [0.5, 1.25, 59, 61].map((day) => new Date(Date.UTC(1899, 11, 30) + day * 86_400_000));
    await writeFile(at('a.xlsx'), workbook([['t', 'n'], ...days.map((time, i) => [time, i])]));
    await done(at('a.xlsx'), '--key', 'row');
    const written = (await rowsOf('a')).map((each) => (each as { t: string }).t);
    expect(written).to.deep.equal(['12:00:00', '1900-01-01 06:00:00', '1900-02-28', '1900-03-01']);
  });

  it('reads the chosen file of a zip archive', async () => {
    await writeFile(at('a.zip'), zipOf({ 'read me.txt': 'Values of 2025', 'in/b.csv': csv }));
    await done(at('a.zip'), '--member', 'in/b.csv');
    expect(await rowsOf('a')).to.deep.equal(rows);
    expect(await refused(at('a.zip'), '--member', 'b.csv')).to.match(
      /no file "b\.csv"; its files are:\n.*read me\.txt\n.*in\/b\.csv/,
    );
  });

  /** Changes a number in the directory of a zip archive. */
  const patched = (archive: Buffer, offset: number, value: number): Buffer => {
    archive.writeUInt16LE(value, archive.indexOf('PK\x01\x02', 0, 'latin1') + offset);
    return archive;
  };
  const rejectedArchives: readonly (readonly [what: string, archive: () => Buffer, error: RegExp])[] = [
    [
      'is encrypted',
      () => patched(zipOf({ 'a.csv': csv }), 8, 1),
      /"a\.csv" in the zip archive is encrypted; unpack it/,
    ],
    ['uses Deflate64', () => patched(zipOf({ 'a.csv': csv }), 10, 9), /is compressed with Deflate64; unpack it/],
    ['is shorter than declared', () => patched(zipOf({ 'a.csv': csv }), 24, 99), /is damaged or cut short/],
    ['continues after the end', () => patched(zipOf({ 'a.csv': csv }), 20, 9999), /is damaged or cut short/],
    ['is stored with other content', () => patched(zipOf({ 'a.csv': csv }, true), 16, 1), /is damaged or cut short/],
    ['has no directory', () => zipOf({ 'a.csv': csv }).subarray(0, 40), /it is not a complete zip archive/],
  ];
  for (const [what, archive, error] of rejectedArchives) {
    it(`rejects a zip archive whose file ${what}`, async () => {
      await writeFile(at('a.zip'), archive());
      expect(await refused(at('a.zip'))).to.match(error);
      expect(await readdir(folder)).to.deep.equal(['a.zip']);
    });
  }

  it('reads a stored file of a zip archive', async () => {
    await writeFile(at('a.zip'), zipOf({ 'a.csv': csv }, true));
    await done(at('a.zip'));
    expect(await rowsOf('a')).to.deep.equal(rows);
  });

  it('ignores spaces around a missing value, and reports one that no cell contains', async () => {
    await writeFile(at('a.csv'), 'id,n\n1, -99\n2,5\n');
    const { notes } = await json(at('a.csv'), '--missing', '-99', '--missing', '-98 ');
    expect(await rowsOf('a')).to.deep.equal([
      { id: 1, n: null },
      { id: 2, n: 5 },
    ]);
    expect(notes).to.deep.equal(['no cell contains the missing value "-98"']);
  });

  it('reads a URL, and reports an error response', async () => {
    const server: Server = createServer((request, response) => {
      response.statusCode = request.url === '/a%20b.csv?x=1' ? 200 : 404;
      response.end(csv);
    });
    try {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      await done(`${origin}/a%20b.csv?x=1`);
      expect(await rowsOf('a_b')).to.deep.equal(rows);
      expect(await refused(`${origin}/none.csv`)).to.match(/Cannot fetch .*404/);
    } finally {
      server.close();
    }
  });

  it('accepts other settings as options', async () => {
    await writeFile(at('a.txt'), 'Höhe (m)~Ort\n"1~x\n');
    const result = await json(
      at('a.txt'),
      '--separator',
      '~',
      '--quote',
      'none',
      '--name',
      'Höhe (m)=height_m',
      '--type',
      'Ort=text',
      '--key',
      'Ort',
    );
    expect(result.columns.map(({ name, type }: { name: string; type: string }) => [name, type])).to.deep.equal([
      ['height_m', 'text'],
      ['ort', 'text'],
    ]);
  });

  for (const [name, options, problem] of [
    ['status', ['--collection', 'status'], /a table must not be called "status"/],
    ['health', ['--collection', 'health'], /a table must not be called "health"/],
    ['acs_5 next to acs5', ['--collection', 'acs_5'], /operationId "listAcs5"|listAcs5/],
  ] as const) {
    it(`rejects a collection called ${name}, as the service would at startup`, async () => {
      await writeFile(at('acs5.csv'), csv);
      await done(at('acs5.csv'));
      const before = await readdir(at('data'));
      const message = await refused(at('acs5.csv'), ...options);
      expect(message).to.match(problem);
      expect(message).to.match(/--collection/);
      expect(await readdir(at('data'))).to.deep.equal(before);
    });
  }

  it('renames a collection that has the name of an endpoint', async () => {
    await writeFile(at('status.csv'), csv);
    expect((await json(at('status.csv'))).collection).to.equal('status_table');
  });

  it('keeps headings as titles in the document, even if two tables share a heading with different types', async () => {
    await writeFile(at('a.csv'), 'id,Größe (cm)\nx,1\n');
    await writeFile(at('b.csv'), 'id,Größe (cm)\nx,y\n');
    await done(at('a.csv'));
    await done(at('b.csv'));
    const config = { adapter: 'memory', plugins: [{ use: 'tables', options: { path: at('data') } }, 'status'] };
    await writeFile(at('api.json'), JSON.stringify({ ...config, auth: { keys: 'memory' } }));
    const { registry } = await loadModules(await loadConfig({ path: at('api.json') }));
    const document = await openApiDocument(registry, '/api/v1');
    const { schemas } = document['components'] as { readonly schemas: Record<string, object> };
    expect(Object.keys(schemas).every((name) => /^[\w.-]+$/.test(name))).to.equal(true);
    const { properties } = schemas['ARow'] as { properties: Record<string, unknown> };
    expect(properties['grosse_cm']).to.deep.include({ title: 'Größe (cm)' });
  });

  const NOT_REGULAR = /cannot be read: it is a pipe, a socket or a device; name a regular file/;
  it('rejects pipes and devices immediately', async () => {
    execFileSync('mkfifo', [at('pipe')]);
    expect(await refused(at('pipe'))).to.match(NOT_REGULAR);
    expect(await refused('/dev/zero')).to.match(NOT_REGULAR);
  });

  it('rejects a file instead of a folder', async () => {
    await writeFile(at('a.csv'), csv);
    await writeFile(at('data'), '');
    expect(await refused(at('a.csv'))).to.match(/data is a file; name a folder$/);
  });

  it('rejects a folder with a synthetic dataset, and a folder with a damaged manifest', async () => {
    await writeFile(at('a.csv'), csv);
    await cp(join(packageRoot, 'plugins/metro/dataset'), at('data'), { recursive: true });
    expect(await refused(at('a.csv'))).to.match(/data contains a synthetic dataset, which cannot be mixed/);
    await writeFile(join(at('data'), 'manifest.json'), '{');
    expect(await refused(at('a.csv'))).to.match(/manifest\.json:1: is not JSON/);
  });

  it('rejects folders, missing files, archives with several files, and text in an unknown encoding', async () => {
    expect(await refused(folder)).to.match(/it is a folder/);
    expect(await refused(at('none.csv'))).to.match(/it does not exist/);
    await writeFile(at('two.zip'), zipOf({ 'a.csv': csv, 'b.csv': csv }));
    expect(await refused(at('two.zip'))).to.match(
      /the zip archive has 2 files; choose one with --member:\n.*a\.csv\n.*b\.csv/,
    );
    await writeFile(at('mixed.csv'), Buffer.concat([Buffer.from(`id,name\n1,ö\n`), Buffer.from('2,ö\n', 'latin1')]));
    expect(await refused(at('mixed.csv'))).to.match(/it is not entirely UTF-8: set its encoding with --encoding/);
    expect(await readdir(folder)).not.to.include('data');
  });

  it('rejects a file in another format than --format, a line that --header does not find, and broken URLs', async () => {
    await writeFile(at('a.csv'), csv);
    for (const [format, message] of [
      ['xlsx', /it is not an Excel workbook, or it is damaged/],
      ['parquet', /it is not a Parquet file, or it is damaged/],
      ['json', /line 1: must be an object; a table is an array of objects/],
    ] as const)
      expect(await refused(at('a.csv'), '--format', format)).to.match(message);
    expect(await refused(at('a.csv'), '--header', '99')).to.match(
      /line 99 \(--header\) is not among its first 500 rows/,
    );
    expect(await refused('http://')).to.match(/http:\/\/ is not a valid URL/);
    expect(await refused('http://127.0.0.1:1/%zz')).to.match(/Cannot fetch/);
  });

  it('reports that requests can filter a table with more than 200 columns only by some of them', async () => {
    const names = Array.from({ length: 201 }, (_, i) => `c${i}`);
    await writeFile(at('a.csv'), `${names}\n${names.map((_, i) => i)}\n`);
    expect((await done(at('a.csv'), '--sort', 'c7')).stdout).to.contain(
      'Note: of 201 columns, requests can filter only by c0, c7; --sort adds columns',
    );
  });

  it('reads standard input', async () => {
    const child = startProcess(['import-table', '-', '--to', at('data')], {}, 'pipe');
    child.stdin!.end('id,name\n1,a\n');
    expect((await once(child, 'exit'))[0]).to.equal(0);
    expect(await rowsOf('stdin')).to.deep.equal([{ id: 1, name: 'a' }]);
    const broken = startProcess(['import-table', '-', '--to', at('data')], {}, 'pipe');
    broken.stdin!.end('{"id":');
    expect(await text(broken.stderr!)).to.match(/^stdin cannot be read: line 1: /);
  });

  it('removes its temporary file and changes nothing on Ctrl-C', async () => {
    await mkdir(at('temporary'));
    const child = startProcess(['import-table', '-', '--to', at('data')], { TMPDIR: at('temporary') }, 'pipe');
    child.stdin!.on('error', () => undefined).write('id,name\n');
    await until(async () => (await readdir(at('temporary'))).length > 0);
    child.kill('SIGINT');
    expect(await text(child.stderr!)).to.equal('The import was interrupted, and nothing was changed.\n');
    expect(await readdir(at('temporary'))).to.deep.equal([]);
    expect(await readdir(folder)).to.deep.equal(['temporary']);
  });

  it('ends on Ctrl-C while a server does not respond', async () => {
    const server = createServer(() => undefined);
    try {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.csv`;
      const child = startProcess(['import-table', url, '--to', at('data')], {}, 'pipe');
      await once(server, 'request');
      child.kill('SIGINT');
      expect(await text(child.stderr!)).to.equal('The import was interrupted, and nothing was changed.\n');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('reports a temporary folder that cannot be written', async () => {
    await writeFile(at('a.csv'), 'id\n1\n');
    const child = startProcess(['import-table', at('a.csv'), '--to', at('data')], { TMPDIR: at('none') }, 'pipe');
    expect(await text(child.stderr!)).to.match(/^The temporary folder .*none cannot be written: it does not exist/);
  });

  it('leaves no new files on a full disk, as init and new do', async function () {
    await writeFile(
      at('a.csv'),
      `id,v\n${Array.from({ length: 9000 }, (_, i) => `${i},${'x'.repeat(50)}\n`).join('')}`,
    );
    const disk = at('disk');
    await mkdir(disk);
    await smallDisk(this, disk, async () => {
      const failed = async (args: readonly string[], input = '') => {
        const child = startProcess(args, { TMPDIR: disk }, 'pipe');
        child.stdin!.on('error', () => undefined).end(input);
        expect(await text(child.stderr!)).to.match(/cannot be (written|used): the disk is full/);
      };
      await failed(['import-table', at('a.csv'), '--to', join(disk, 'data.db')]);
      await failed(['import-table', '-', '--to', at('data')], await readFile(at('a.csv'), 'utf8'));
      expect(await readdir(disk)).to.deep.equal([]);
      await writeFile(join(disk, 'fill'), Buffer.alloc(64 * 1024)).catch(() => undefined);
      await failed(['init', join(disk, 'api.json')]);
      await failed(['new', 'plugin', 'demo', '--to', disk]);
      expect(await readdir(disk)).to.deep.equal(['fill']);
    });
  });

  it('rejects a pipe instead of a declaration file', async () => {
    await writeFile(at('a.csv'), 'id\n1\n');
    await done(at('a.csv'));
    execFileSync('mkfifo', [join(at('data'), 'other.collection.json')]);
    expect(() => readDeclarations(at('data'))).to.throw(OperatorError, /it is a pipe/);
    expect(() => readDeclarations(at('a.csv'))).to.throw(OperatorError, `a.csv is a file; use ${folder}, the folder`);
  });
});

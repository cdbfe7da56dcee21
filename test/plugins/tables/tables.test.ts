import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { register } from '../../../cli/commands/import-table.js';
import type { App } from '../../../core/app/app-types.js';
import type { OperatorError } from '../../../core/errors.js';
import { MemoryKeyStore } from '../../../core/keys/memory-key-store.js';
import { sortNames } from '../../../plugins/tables/routes.js';
import { createApp } from '../../../product.js';
import { parseCsv } from '../../support/csv-parser.js';
import { runCommand } from '../../support/run-command.js';
import { addKey } from '../../support/test-app.js';

const ROWS = 10_000;
const CITIES = ['Austin', 'Boise', 'Chico'];
const row = (i: number) => ({
  id: i,
  city: CITIES[i % 3]!,
  zip: String(i % 500).padStart(5, '0'),
  value: i % 7 === 0 ? null : i / 4,
});

describe('plugin tables', () => {
  let folder: string;
  let app: App;
  let headers: { authorization: string };
  const config = (options: Readonly<Record<string, unknown>>) => ({
    adapter: { use: 'json', options: { path: join(folder, 'data') } },
    plugins: [{ use: 'tables', options }, 'status'],
    auth: { keys: 'memory' },
    http: { responseCheck: 'refuse' as const },
    log: { level: 'silent' as const },
  });
  const run = (...args: string[]) =>
    runCommand(register, ['import-csv', join(folder, 'permits.csv'), '--to', join(folder, 'data'), ...args]);

  before(async function () {
    this.timeout(60_000);
    folder = await mkdtemp(join(tmpdir(), 'tables-'));
    const lines = Array.from({ length: ROWS }, (_, i) => row(ROWS - i)).map(
      ({ id, city, zip, value }) => `${id},${city},${zip},${value ?? ''}\n`,
    );
    await writeFile(join(folder, 'permits.csv'), `ID,City,Zip,Value\n${lines.join('')}`);
    const { error, stdout } = await run('--collection', 'building_permits', '--key', 'id', '--sort', 'city,zip');
    if (error) throw error;
    expect(stdout)
      .to.include('10,000 rows of building_permits')
      .and.match(/zip +text, guessed: line \d+ has "0\d+": its leading zeros/);
    const keyStore = new MemoryKeyStore();
    app = await createApp(config({ path: join(folder, 'data') }), { keyStore });
    headers = { authorization: `Bearer ${(await addKey(keyStore)).key}` };
  });
  after(async () => {
    await app?.close();
    await rm(folder, { recursive: true, force: true });
  });
  const get = async (target: string) => app.inject({ url: `/api/v1/building-permits${target}`, headers });
  const rows = async (target: string) => (await get(target)).json().data as ReturnType<typeof row>[];
  const all = Array.from({ length: ROWS }, (_, i) => row(i + 1));

  it('lists all rows by key, in every format', async () => {
    expect(await rows('')).to.deep.equal(all);
    const csv = parseCsv((await get('?format=csv')).body);
    expect(csv).to.have.length(ROWS + 1);
    expect(csv[1]).to.deep.equal(['1', 'Boise', '00001', '0.25']);
    expect((await get('?format=ndjson&limit=1')).body).to.equal(`${JSON.stringify(all[0])}\n`);
  });
  it('does not name a schema after a column called "title"', async () => {
    const [csv, data] = [join(folder, 'books.csv'), join(folder, 'books')];
    await writeFile(csv, 'id,title\n1,Pride and Prejudice\n');
    const { error } = await runCommand(register, [
      'import-csv',
      csv,
      '--to',
      data,
      '--collection',
      'books',
      '--key',
      'id',
    ]);
    if (error) throw error;
    const ofBooks = { ...config({ path: data }), adapter: { use: 'json', options: { path: data } } };
    const library = await createApp(ofBooks, { keyStore: new MemoryKeyStore() });
    try {
      const { components } = (await library.inject('/api/v1/openapi.json')).json();
      for (const name of Object.keys(components.schemas)) expect(name).to.match(/^[\w.-]+$/);
    } finally {
      await library.close();
    }
  });

  it('names schemas after their tables, even if two declarations have the same title', async () => {
    const declarations = await mkdtemp(join(folder, 'titled-'));
    for (const name of ['trees', 'shops']) {
      const schema = { type: 'object', title: 'City data', required: ['id'], properties: { id: { type: 'integer' } } };
      const declaration = { name, key: ['id'], schema: { ...schema, description: name, examples: [{ id: 1 }] } };
      await writeFile(join(declarations, `${name}.collection.json`), JSON.stringify(declaration));
    }
    const titled = await createApp({ ...config({ path: declarations }), adapter: 'memory' });
    try {
      const { components } = (await titled.inject('/api/v1/openapi.json')).json();
      expect(components.schemas).to.include.keys('TreesRow', 'ShopsRow').and.not.to.have.property('City data');
    } finally {
      await titled.close();
    }
  });

  it('filters and sorts by the orders of the table', async () => {
    const boise = all.filter(({ city }) => city === 'Boise');
    expect(await rows('?city=Boise')).to.deep.equal(boise);
    // The order of filters in the query string does not matter. Filters apply in the order of the sort fields.
    expect(await rows('?id=4&city=Boise')).to.deep.equal([all[3]]);
    expect(await rows('?id=4&city=Chico')).to.deep.equal([]);
    expect(await rows('?id=4&city=Boise&limit=1')).to.deep.equal([all[3]]);
    expect(await rows('?city=Boise&id_from=9990')).to.deep.equal(boise.filter(({ id }) => id >= 9_990));
    expect(await rows('?zip_from=00499')).to.deep.equal(all.filter(({ zip }) => zip >= '00499'));
    expect((await rows('?sort=-city&limit=2')).map(({ id }) => id)).to.deep.equal([9_998, 9_995]);
  });
  it('has pages that together are the whole list, with links to the next page', async () => {
    const found: unknown[] = [];
    for (let target: string | undefined = '?city=Chico&sort=-city&limit=1000'; target; ) {
      const response = await get(target);
      found.push(...response.json().data);
      target = /^<(.*)>; rel="next"$/.exec(String(response.headers['link'] ?? ''))?.[1];
    }
    expect(found).to.deep.equal(all.filter(({ city }) => city === 'Chico').reverse());
  });
  it('returns each row by its key, and a 404 for other keys', async () => {
    expect((await get('/7')).json()).to.deep.equal(all[6]);
    expect((await get('/10001')).json()).to.include({ code: 'row_not_found' });
    expect((await get('/x')).statusCode).to.equal(400);
  });
  it('filters by any combination of columns', async () => {
    const matching = all.filter(({ city, zip }) => city === 'Boise' && zip === '00001');
    expect(await rows('?zip=00001&city=Boise')).to.deep.equal(matching);
    expect(await rows('?sort=-zip&city=Boise&zip=00001')).to.deep.equal(matching.toReversed());
    expect(await rows('?value[null]=true&id[lt]=20')).to.deep.equal([all[6], all[13]]);
  });
  it('reduces rows to the chosen columns, and always keeps the key', async () => {
    expect(await rows('?fields=value&limit=2')).to.deep.equal(all.slice(0, 2).map(({ id, value }) => ({ id, value })));
    expect((await get('?fields=zip,id&limit=1&format=csv')).body).to.equal('id,zip\r\n1,00001\r\n');
  });
  it('supports as_of, and reports that this store has no earlier version', async () => {
    expect((await get('?as_of=2001-01-01')).json().code).to.equal('snapshot_not_found');
  });
  it('is in the OpenAPI document with its filters and types', async () => {
    const { paths, components } = (await app.inject('/api/v1/openapi.json')).json();
    const list = paths['/building-permits'].get;
    expect(list.operationId).to.equal('listBuildingPermits');
    const names = list.parameters.map(({ name }: { name: string }) => name);
    const others = ['sort', 'fields', 'q', 'count', 'limit', 'after', 'format', 'as_of'];
    expect(names).to.deep.equal(['id', 'city', 'zip', 'value', ...others]);
    const { style, schema } = list.parameters[3];
    expect([style, schema]).to.deep.equal([
      'deepObject',
      { anyOf: [{ $ref: '#/components/schemas/NumberFilter' }, { type: 'number' }] },
    ]);
    expect(components.schemas.NumberFilter.properties.gte.type).to.equal('number');
    expect(paths['/building-permits/{id}'].get.operationId).to.equal('getBuildingPermits');
  });

  it('changes nothing if rows are invalid', async () => {
    const manifest = await readFile(join(folder, 'data/manifest.json'), 'utf8');
    const { error } = await run('--collection', 'building_permits', '--key', 'city');
    expect((error as OperatorError).errors[0]).to.match(/^line \d+: has the same key as line \d+: city "Austin"$/);
    expect(await readFile(join(folder, 'data/manifest.json'), 'utf8')).to.equal(manifest);
  });
  for (const [what, options, says] of [
    ['a directory without a table', { path: tmpdir() }, 'import-table'],
    ['a collection that no plugin declares', { collections: ['permits'] }, 'no plugin declares a collection "permits"'],
    ['no table at all', {}, 'set the option "path" or "collections"'],
  ] as const) {
    it(`rejects ${what} at startup`, async () => {
      const error = await createApp(config(options)).catch((error: OperatorError) => error);
      expect((error as OperatorError).errors.join('\n')).to.include(says);
    });
  }
});

describe('sortNames(orders)', () => {
  it('are the shortest names that differ', () => {
    expect([
      ...sortNames([
        ['a', 'b'],
        ['c', 'a', 'b'],
        ['c', 'b', 'a'],
      ]).keys(),
    ]).to.deep.equal(['a', 'c', 'c,b']);
  });
});

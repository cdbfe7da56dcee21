import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../../core/util/package.js';

const run = promisify(execFile);

const DECLARATIONS = `
import { collection, conditionsOf, type DataContext, dataRoute, definePlugin, type JsonSchema, paging, selection, serviceRoute } from 'metro-forecast-api/plugin';

const wide = { type: 'string' };
const permits = collection({
  name: 'permits',
  key: ['city', 'month'],
  orders: [['month', 'city']],
  schema: {
    type: 'object',
    required: ['city', 'month', 'units', 'note'],
    properties: {
      city: { type: 'string' },
      month: { type: 'string' },
      units: { type: 'integer' },
      grade: { type: ['string', 'null'], enum: ['A', 'B', null] },
      site: { anyOf: [{ type: 'object', properties: { lat: { type: 'number' } } }, { type: 'null' }] },
      note: wide,
    },
  },
});
const response = {
  description: 'A number.',
  schema: { type: 'object', required: ['units'], properties: { units: { type: 'integer' } } },
  example: { units: 1 },
} as const;
const route = { path: '/x', operationId: 'x', summary: 'x', response } as const;
const plugin = { name: 'x', version: '1.0.0', description: 'x' };
declare const context: DataContext;
const { snapshot } = context;
const [row] = await snapshot.find(permits);
if (!row) throw new Error();
`;

type Mistake = readonly [code: string, error: string];

const QUERIES: readonly Mistake[] = [
  [`await snapshot.find(permits, { order: ['mont', 'city'] });`, `'"mont"' is not assignable`],
  [`await snapshot.find(permits, { order: ['mont', 'city'] });`, `Did you mean '"month"'?`],
  [`await snapshot.find(permits, { order: ['grade'] });`, `'"grade"' is not assignable`],
  [
    `await snapshot.find(permits, { equal: { town: 'x' } });`,
    `'town' does not exist in type '{ readonly city?: string;`,
  ],
  [`await snapshot.find(permits, { equal: { city: 1 } });`, `'number' is not assignable to type 'string'`],
  [`await snapshot.find(permits, { range: { field: 'day' } });`, `'"day"' is not assignable to type '"city" |`],
  [
    `await snapshot.find(permits, { range: { field: 'units', to: '2' } });`,
    `'string' is not assignable to type 'number'`,
  ],
  [`await paging.findPage(context, permits, { order: ['mont'] }, {});`, `Did you mean '"month"'?`],
  [`await paging.findPage(context, permits, { equal: { town: 'x' } }, {});`, `'town' does not exist in type`],
  [
    `await paging.findPage(context, permits, { range: { field: 'day' } }, {});`,
    `'"day"' is not assignable to type '"city" |`,
  ],
  [`await paging.selectPage(context, permits, { where: [], order: ['mont'] }, {});`, `Did you mean '"month"'?`],
];

const where = `[{ field: 'town', operator: 'eq', value: 'x' }]`;
const TOTALS: readonly Mistake[] = [
  [
    `await selection.selectTotals(context, permits, { where: [], by: ['town'] });`,
    `'"town"' is not assignable to type`,
  ],
  [
    `await selection.selectTotals(context, permits, { where: [], by: ['site'] });`,
    `'"site"' is not assignable to type`,
  ],
  [`await selection.selectTotals(context, permits, { where: [], of: 'unit' });`, `Did you mean '"units"'?`],
  [`await selection.selectTotals(context, permits, { where: [], of: 'city' });`, `'"city"' is not assignable to type`],
  [`await selection.selectTotals(context, permits, { where: ${where} });`, `'"town"' is not assignable to type`],
  [`await selection.countMatching(context, permits, { where: ${where} });`, `'"town"' is not assignable to type`],
  [`await paging.selectPage(context, permits, { where: ${where} }, {});`, `'"town"' is not assignable to type`],
  [`await paging.selectSorted(context, permits, { where: [], sort: '-mont' }, {});`, `Did you mean '"-month"'?`],
  [`await snapshot.totals(permits, { where: [], by: ['mont'], limit: 1 });`, `Did you mean '"month"'?`],
  [`paging.rowOrder<typeof row>(['-unit', 'city']);`, `Did you mean '"-units"'?`],
  [`paging.pageOf(context, [row], paging.rowOrder(['unit', 'city']), {});`, `Did you mean '"units"'?`],
  [
    `paging.pageOf(context, [{ a: 1, b: { c: 1 } }], paging.rowOrder(['b', 'a']), {});`,
    `'"b"' is not assignable to type`,
  ],
];

const ROWS: readonly Mistake[] = [
  ['row.unit;', `Property 'unit' does not exist on type 'Readonly<{ readonly city: string;`],
  ['row.unit;', `Did you mean 'units'?`],
  ['row.units = 2;', `Cannot assign to 'units' because it is a read-only property`],
  [`const grade: 'A' | 'B' | undefined = row.grade;`, `Type 'null' is not assignable to type '"A" | "B" | undefined'`],
  ['const lat: number = row.site?.lat;', `Type 'undefined' is not assignable to type 'number'`],
];

const KEYS: readonly Mistake[] = [
  [
    `collection({ name: 'x', key: ['twn'], schema: { type: 'object', properties: { town: { type: 'string' } } } });`,
    `Type '"twn"' is not assignable to type '"town"'`,
  ],
  [
    `collection({ ...permits, key: ['city'], orders: [['mont']], schema: { type: 'object', properties: { city: {} } } });`,
    `Type '"mont"' is not assignable to type '"city"'`,
  ],
];

const NEEDS_CONST: readonly Mistake[] = [
  [
    `const schema = { type: 'object', properties: { a: { type: 'string' } } }; collection({ name: 'x', key: ['a'], schema });`,
    `Type '"a"' is not assignable to type '"declare the schema with \`as const\`"'`,
  ],
  ['const note: string = row.note;', `Type 'DeclareSchemaAsConst' is not assignable to type 'string'`],
  [
    `await snapshot.find(permits, { equal: { note: 'x' } });`,
    `'string' is not assignable to type 'DeclareSchemaAsConst'`,
  ],
  [
    `dataRoute({ ...route, parameters: { query: { id: { description: 'x', schema: wide } } }, handler: async ({ id = 'x' }) => ({ units: id.length }) });`,
    `Property 'length' does not exist on type 'DeclareSchemaAsConst'`,
  ],
  [
    `definePlugin({ ...plugin, options: { type: 'object', properties: { a: wide } }, middleware: ({ a = 'x' }) => [a.length] });`,
    `Property 'length' does not exist on type 'DeclareSchemaAsConst'`,
  ],
  ...['dataRoute', 'serviceRoute'].map(
    (declare): Mistake => [
      `${declare}({ ...route, response: { ...response, schema: { type: 'object', properties: { a: wide } } }, handler: async () => ({ a: 'x' }) });`,
      `is not assignable to type 'DeclareSchemaAsConst'`,
    ],
  ),
  [
    `const schema = { type: 'object', properties: { a: { type: 'string' } } }; dataRoute({ ...route, response: { ...response, schema }, handler: async () => ({ a: 'x' }) });`,
    `required in type 'DeclareSchemaAsConst'`,
  ],
];

const HANDLERS: readonly Mistake[] = [
  [
    `dataRoute({ ...route, handler: async () => ({ units: 'many' }) });`,
    `'{ readonly units: "many"; }' is not assignable to type '{ readonly units: number; }'`,
  ],
  [
    `dataRoute({ ...route, response: { ...response, schema: { title: 'Permit', ...permits.schema } }, handler: async () => ({ ...row, units: 'many' }) });`,
    `Types of property 'units' are incompatible`,
  ],
  [`dataRoute({ ...route, handler: async () => ({}) });`, `Type '{}' is not assignable to type`],
  [`dataRoute({ ...route, handler: () => ({ units: 1 }) });`, `missing the following properties from type 'Promise<`],
  [
    `definePlugin({ ...plugin, options: { type: 'object', properties: { header: {} } }, middleware: ({ heder }) => [] });`,
    `Property 'heder' does not exist on type`,
  ],
];

const ALLOWED = [
  `await selection.selectTotals(context, permits, { where: conditionsOf({}), by: ['grade', 'note'], of: 'units' });`,
  `await selection.selectTotals(context, permits, { where: [{ field: 'grade', operator: 'null', value: true }] });`,
  `await paging.selectPage(context, permits, { where: conditionsOf({}), order: ['month', 'city'] }, {});`,
  `const { city, ...page } = {} as { city?: string; limit?: number; after?: string }; await paging.selectPage(context, permits, { where: [...conditionsOf({}), { field: 'units', operator: 'gt', value: 1 }] }, { limit: page.limit, after: page.after });`,
  `dataRoute({ ...route, response: { ...response, schema: { type: 'object', required: ['data'], properties: { data: { type: 'array', items: { type: 'object', properties: { city: { type: 'string' } } } } } } }, handler: async () => ({ data: await paging.selectPage(context, permits, { where: [] }, {}) }) });`,
  `definePlugin({ ...plugin, identity: () => ({ identify: ({ headers: { authorization = '' } }) => ({ id: authorization.trim(), tier: 'a', limit: undefined }) }) });`,
  `paging.pageOf(context, [row], paging.rowOrder(['-units', 'grade', 'city']), {});`,
  `paging.pageOf(context, [row], paging.rowOrder(['-rank'], (row: { units: number }, field: string) => row.units), {});`,
  `await snapshot.find(permits, { order: ['month', 'city'], equal: { month: 'x' }, range: { field: 'city', from: 'y' } });`,
  `dataRoute({ ...route, response: { ...response, schema: { type: 'object', properties: { a: {} as JsonSchema } } }, handler: async () => ({ a: 1 }) });`,
  `definePlugin({ ...plugin, options: { type: 'object', properties: { a: { type: 'integer', default: 1 } } }, open: ({ a }) => { a.toFixed(); } });`,
];

const mistakes = { QUERIES, TOTALS, ROWS, KEYS, NEEDS_CONST, HANDLERS };
const OPTIONS = {
  noEmit: true,
  target: 'es2022',
  module: 'nodenext',
  strict: true,
  exactOptionalPropertyTypes: true,
  types: ['node'],
};

describe('a plugin in TypeScript', () => {
  let folder: string;
  let output: string;

  const cases = Object.entries(mistakes).flatMap(([group, list]) =>
    list.map(([code, error], i) => ({ file: `${group}-${i}.ts`, code, error })),
  );

  before(async function () {
    this.timeout(120_000);
    folder = await mkdtemp(join(tmpdir(), 'type-errors-'));
    const modules = join(folder, 'node_modules');
    await mkdir(modules);
    await symlink(packageRoot, join(modules, 'metro-forecast-api'));
    await symlink(join(packageRoot, 'node_modules/@types'), join(modules, '@types'));
    const allowed = ALLOWED.map((code, i) => ({ file: `allowed-${i}.ts`, code }));
    for (const { file, code } of [...cases, ...allowed]) {
      await writeFile(join(folder, file), `${DECLARATIONS}\n${code}\n`);
    }
    await writeFile(join(folder, 'embed.ts'), "export { createApp } from 'metro-forecast-api';");
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: OPTIONS, include: ['*.ts'] }));
    const tsc = join(packageRoot, 'node_modules/typescript/bin/tsc');
    const args = [tsc, '--project', folder, '--pretty', 'false', '--extendedDiagnostics', '--listFiles'];
    ({ stdout: output } = await run(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26 }).catch(
      (error: { stdout: string }) => error,
    ));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const errorsIn = (file: string): string =>
    output
      .split(/^(?=\S)/m)
      .flatMap((error) => (error.startsWith(`${file}(`) ? [error] : []))
      .join('');

  for (const { file, code, error } of cases) {
    it(`${code} → ${error}`, () => {
      expect(errorsIn(file)).to.contain(error);
    });
  }

  for (const [i, code] of ALLOWED.entries()) {
    it(`${code} → no error`, () => {
      expect(errorsIn(`allowed-${i}.ts`)).to.equal('');
    });
  }

  it('compiles our declarations without skipLibCheck', () => {
    for (const entry of ['plugin', 'index']) expect(output).to.contain(join(packageRoot, `dist/${entry}.d.ts`));
    expect(output).not.to.match(/\.d\.ts\(\d+,\d+\): error/);
  });

  it('does not load the types of database clients', () => {
    expect(output).not.to.match(/node_modules\/(ioredis|mongodb|libsql)\//);
  });

  it('needs at most 250,000 type instantiations', () => {
    const count = /^Instantiations:\s+(\d+)/m.exec(output);
    expect(Number(count?.[1])).to.be.within(1, 250_000);
  });
});

import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../../../core/util/package.js';
import { HOUSTON } from '../../../support/fixture.js';
import { needPandas } from '../../../support/pandas.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

const PROGRAM = `
import io, json, sys
import pandas as pd

def kind(column):
    if pd.api.types.is_bool_dtype(column): return 'boolean'
    if pd.api.types.is_integer_dtype(column): return 'integer'
    if pd.api.types.is_float_dtype(column): return 'number'
    return 'string'

def value(cell):
    if isinstance(cell, float) and cell != cell: return None
    return cell.item() if hasattr(cell, 'item') else cell

answers = []
for text in json.load(sys.stdin):
    # CSV has no types, so readers must be configured to read codes as text.
    frame = pd.read_csv(io.StringIO(text), dtype={'cbsa': str, 'parent': str, 'group': str}, float_precision='round_trip')
    answers.append({
        'kinds': {name: kind(frame[name]) for name in frame},
        'rows': [{name: value(cell) for name, cell in row.items()} for row in frame.astype(object).to_dict('records')],
    })
json.dump(answers, sys.stdout)
`;

type Row = Readonly<Record<string, unknown>>;

/**
 * Returns the type that pandas infers for a column. With missing values, integers become floats and Booleans become
 * objects. Undefined for an empty column, whose type is not checked.
 */
const expectedKind = (values: readonly unknown[]): string | undefined => {
  const present = values.filter((value) => value !== null && value !== undefined);
  const complete = present.length === values.length;
  if (present.length === 0) return undefined;
  if (present.every((value) => Number.isInteger(value))) return complete ? 'integer' : 'number';
  if (present.every((value) => typeof value === 'number')) return 'number';
  return complete && present.every((value) => typeof value === 'boolean') ? 'boolean' : 'string';
};

const expectedCell = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : (value ?? null);

describe('CSV in pandas', function () {
  this.timeout(180_000);
  const services: TestApp[] = [];
  after(async () => {
    for (const service of services) await service.close();
  });

  for (const [what, config] of [
    ['the fixture, with its nulls', {}],
    [
      'the embedded sample',
      { adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } } },
    ],
  ] as const) {
    it(`has the types and values of every list of ${what}`, async function () {
      const python = await needPandas(this);
      const service = await startTestApp({ config });
      services.push(service);
      const { paths } = (await service.get('/openapi.json')).json;
      const targets = Object.keys(paths)
        .filter((path) => paths[path].get.responses[200].content['text/csv'])
        .flatMap((path) =>
          path === '/observations'
            ? ['/observations?series_id=UNRATE', '/observations?series_id=metro_hpi']
            : [path.replace('{cbsa}', HOUSTON).replace(/breakdown$/, '$&?by=year')],
        );
      expect(targets).to.have.length(17);
      const texts: string[] = [];
      const lists: (readonly Row[])[] = [];
      for (const target of targets) {
        texts.push((await service.get(target, { headers: { Accept: 'text/csv' } })).text);
        lists.push((await service.get(target)).json.data);
      }
      const frames = JSON.parse(await python(PROGRAM, JSON.stringify(texts))) as {
        kinds: Record<string, string>;
        rows: Row[];
      }[];
      for (const [at, { kinds, rows }] of frames.entries()) {
        const expected = lists[at]!;
        expect(expected, targets[at]).to.not.be.empty;
        for (const [name, kind] of Object.entries(kinds)) {
          const wanted = expectedKind(expected.map((row) => row[name]));
          if (wanted) expect(kind, `${targets[at]}: ${name}`).to.equal(wanted);
        }
        const names = Object.keys(kinds);
        expect(rows, targets[at]).to.deep.equal(
          expected.map((row) => Object.fromEntries(names.map((name) => [name, expectedCell(row[name])]))),
        );
      }
    });
  }
});

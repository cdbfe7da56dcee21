import { expect } from 'chai';
import type { Collection, Document } from '../../../core/contracts/dataset.js';
import { formatDataError } from '../../../core/data/data-errors.js';
import { checkDataset } from '../../../core/data/validate.js';
import { memoryDataset } from '../../support/memory-dataset.js';
import { collections, manifestOf, rows } from '../../support/weather.js';

const manifest = manifestOf();
const errorsOf = async (content: Record<string, readonly Document[]>, declared = collections) =>
  (await checkDataset(memoryDataset(manifest, content), declared)).kept.map(formatDataError);

const open = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});
const declare = (...list: Collection[]) => new Map(list.map((collection) => [collection.name, collection]));

describe('checkDataset(dataset, collections)', () => {
  it('finds no errors in a valid dataset, in any order of collections', async () => {
    expect(await errorsOf({ ...rows })).to.deep.equal([]);
    expect(await errorsOf({ ...rows }, new Map([...collections].reverse()))).to.deep.equal([]);
  });

  it('names collections if the dataset has no files', async () => {
    const readings = [{ ...rows.readings[0], low: 5 }];
    expect(await errorsOf({ ...rows, readings })).to.deep.equal(['readings:1: low: must not be above high']);
  });

  it('rejects NaN and infinities in fields that are not in the schema', async () => {
    const anything = declare({ name: 'anything', key: ['id'], schema: open({ id: { type: 'string' } }) });
    const documents = [
      { id: 'a', deep: { list: [1, { x: Number.NaN }] } },
      { id: 'b', plain: Number.POSITIVE_INFINITY },
      { id: 'c', fine: [1e308, -0, null] },
    ];
    expect(await errorsOf({ anything: documents }, anything)).to.deep.equal([
      'anything:1: deep.list.1.x: must be a finite number',
      'anything:2: plain: must be a finite number',
    ]);
  });

  it('accepts references to later rows of the same collection, and between two collections', async () => {
    const schema = open({ id: { type: 'integer' }, other: { type: 'integer' } });
    const selves = declare({ name: 'selves', key: ['id'], schema, references: [{ fields: ['other'], to: 'selves' }] });
    const content = [
      { id: 1, other: 3 },
      { id: 2, other: 9 },
      { id: 3, other: 1 },
    ];
    expect(await errorsOf({ selves: content }, selves)).to.deep.equal([
      'selves:2: other: refers to 9, which is not in "selves"',
    ]);
    const circle = declare(
      { name: 'left', key: ['id'], schema, references: [{ fields: ['other'], to: 'right' }] },
      { name: 'right', key: ['id'], schema, references: [{ fields: ['other'], to: 'left' }] },
    );
    const left = [{ id: 1, other: 5 }];
    const right = [{ id: 5, other: 1 }];
    expect(await errorsOf({ left, right }, circle)).to.deep.equal([]);
    expect(await errorsOf({ left, right: [{ id: 5, other: 2 }] }, circle)).to.deep.equal([
      'right:1: other: refers to 2, which is not in "left"',
    ]);
  });

  it('compares references of several fields as a whole', async () => {
    const schema = open({ a: { type: 'string' }, b: { type: 'string' } });
    const pairs = declare(
      { name: 'pairs', key: ['a', 'b'], schema },
      { name: 'users', key: ['a'], schema, references: [{ fields: ['a', 'b'], to: 'pairs' }] },
    );
    const content = {
      pairs: [{ a: 'x', b: 'y' }],
      users: [
        { a: 'x', b: 'y' },
        { a: 'x,y', b: '' },
      ],
    };
    expect(await errorsOf(content, pairs)).to.deep.equal([
      'users:2: a+b: refers to ["x,y",""], which is not in "pairs"',
    ]);
  });

  it('orders keys by code point, so that U+1F600 comes after U+FFFD', async () => {
    const stations = ['\uFFFD', '😀'].map((id) => ({ id, name: 'x' }));
    expect(await errorsOf({ stations, readings: [] })).to.deep.equal([]);
    expect(await errorsOf({ stations: stations.toReversed(), readings: [] })).to.have.length(1);
  });

  it('rejects days that are not in the calendar', async () => {
    const isRejected = async (day: string) =>
      (await errorsOf({ ...rows, readings: [{ ...rows.readings[0], day }] })).length > 0;
    for (const day of ['2024-02-29', '2000-02-29', '2025-12-31']) expect(await isRejected(day), day).to.equal(false);
    const wrong = ['2025-02-29', '1900-02-29', '2025-04-31', '2025-13-01', '2025-00-10', '2025-1-1', '20250101', ''];
    for (const day of wrong) expect(await isRejected(day), day).to.equal(true);
  });
});

describe('checkDataset(dataset, collections, options)', () => {
  it('lists the first errors and the number of further errors', async () => {
    const stations = Array.from({ length: 500 }, (_, i) => ({ id: String(1000 + i), name: '' }));
    const errors = await checkDataset(memoryDataset(manifest, { stations }), collections, { maxErrors: 3 });
    expect(errors.total).to.equal(500);
    expect(errors.kept).to.have.length(3);
    expect(errors.lines().at(-1)).to.equal('and 497 more');
  });

  it('stops after 1,000 errors', async () => {
    const stations = Array.from({ length: 5000 }, (_, i) => ({ id: String(1000 + i), name: '' }));
    let read = 0;
    const errors = await checkDataset(memoryDataset(manifest, { stations, readings: [] }), collections, {
      onProgress: ({ rows }) => {
        read = rows;
      },
    });
    expect(errors.total).to.equal(1000);
    expect(errors.lines().slice(-2)).to.deep.equal(['and 900 more', 'the check stopped after 1000 errors']);
    expect(read).to.equal(5000);
  });

  it('checks rows of 5,000 columns', async () => {
    const names = Array.from({ length: 5000 }, (_, i) => `c${i}`);
    const schema = {
      ...open(Object.fromEntries(names.map((name) => [name, { type: 'integer' }]))),
      additionalProperties: false,
    };
    const wide = declare({ name: 'wide', key: ['c0'], schema });
    const row = (id: number) => Object.fromEntries(names.map((name) => [name, id]));
    expect(await errorsOf({ wide: [row(1), row(2)] }, wide)).to.deep.equal([]);
    expect(
      await errorsOf(
        {
          wide: [
            { ...row(1), c4999: 'x' },
            { ...row(2), c5000: 1 },
          ],
        },
        wide,
      ),
    ).to.deep.equal(['wide:1: c4999: must be a whole number, not "x"', 'wide:2: c5000: is not a known field']);
  });

  it('passes on the rows of each collection in order, and reports progress', async () => {
    const given: Record<string, Document[]> = {};
    const progress: unknown[] = [];
    await checkDataset(memoryDataset(manifest, { ...rows }), collections, {
      onRows: ({ name }, { documents }) => {
        given[name] = [...(given[name] ?? []), ...(documents as Document[])];
      },
      onProgress: (step) => progress.push(step),
    });
    expect(given).to.deep.equal(rows);
    expect(progress).to.deep.equal([
      { collection: 'stations', rows: 2, total: undefined },
      { collection: 'readings', rows: 3, total: undefined },
    ]);
  });
});

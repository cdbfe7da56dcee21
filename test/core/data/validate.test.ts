/** Validation beyond single faults: their number, references in every direction, and what is told on the way. */
import { expect } from 'chai';
import type { Collection, Document } from '../../../core/contracts/dataset.js';
import { formatDataError } from '../../../core/data/data-errors.js';
import { checkDataset } from '../../../core/data/validate.js';
import { memoryDataset } from '../../support/memory-dataset.js';
import { collections, manifestOf, rows } from './weather.js';

const manifest = manifestOf();
const faultsOf = async (content: Record<string, readonly Document[]>, declared = collections) =>
  (await checkDataset(memoryDataset(manifest, content), declared)).kept.map(formatDataError);

const open = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});
const declare = (...list: Collection[]) => new Map(list.map((collection) => [collection.name, collection]));

describe('checkDataset(dataset, collections)', () => {
  it('finds nothing in a sound dataset, whichever collection is declared first', async () => {
    expect(await faultsOf({ ...rows })).to.deep.equal([]);
    expect(await faultsOf({ ...rows }, new Map([...collections].reverse()))).to.deep.equal([]);
  });

  it('names collections where there are no files', async () => {
    const readings = [{ ...rows.readings[0], low: 5 }];
    expect(await faultsOf({ ...rows, readings })).to.deep.equal(['readings:1: low: must not be above high']);
  });

  it('finds NaN and infinities also where the schema says nothing', async () => {
    const anything = declare({ name: 'anything', key: ['id'], schema: open({ id: { type: 'string' } }) });
    const documents = [
      { id: 'a', deep: { list: [1, { x: Number.NaN }] } },
      { id: 'b', plain: Number.POSITIVE_INFINITY },
      { id: 'c', fine: [1e308, -0, null] },
    ];
    expect(await faultsOf({ anything: documents }, anything)).to.deep.equal([
      'anything:1: deep.list.1.x: must be a finite number',
      'anything:2: plain: must be a finite number',
    ]);
  });

  it('takes references to later rows of the same collection, and between two that refer to each other', async () => {
    const schema = open({ id: { type: 'integer' }, other: { type: 'integer' } });
    const selves = declare({ name: 'selves', key: ['id'], schema, references: [{ fields: ['other'], to: 'selves' }] });
    const content = [
      { id: 1, other: 3 },
      { id: 2, other: 9 },
      { id: 3, other: 1 },
    ];
    expect(await faultsOf({ selves: content }, selves)).to.deep.equal([
      'selves:2: other: refers to 9, which is not in "selves"',
    ]);
    const circle = declare(
      { name: 'left', key: ['id'], schema, references: [{ fields: ['other'], to: 'right' }] },
      { name: 'right', key: ['id'], schema, references: [{ fields: ['other'], to: 'left' }] },
    );
    const left = [{ id: 1, other: 5 }];
    const right = [{ id: 5, other: 1 }];
    expect(await faultsOf({ left, right }, circle)).to.deep.equal([]);
    expect(await faultsOf({ left, right: [{ id: 5, other: 2 }] }, circle)).to.deep.equal([
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
    expect(await faultsOf(content, pairs)).to.deep.equal([
      'users:2: a+b: refers to ["x,y",""], which is not in "pairs"',
    ]);
  });

  it('orders keys by code point, so that U+1F600 comes after U+FFFD', async () => {
    const stations = ['\uFFFD', '😀'].map((id) => ({ id, name: 'x' }));
    expect(await faultsOf({ stations, readings: [] })).to.deep.equal([]);
    expect(await faultsOf({ stations: stations.toReversed(), readings: [] })).to.have.length(1);
  });

  it('knows the calendar, leap years of centuries included', async () => {
    const faulty = async (day: string) =>
      (await faultsOf({ ...rows, readings: [{ ...rows.readings[0], day }] })).length > 0;
    for (const day of ['2024-02-29', '2000-02-29', '2025-12-31']) expect(await faulty(day), day).to.equal(false);
    const wrong = ['2025-02-29', '1900-02-29', '2025-04-31', '2025-13-01', '2025-00-10', '2025-1-1', '20250101', ''];
    for (const day of wrong) expect(await faulty(day), day).to.equal(true);
  });
});

describe('checkDataset(dataset, collections, options)', () => {
  it('keeps the first faults and counts all', async () => {
    const stations = Array.from({ length: 500 }, (_, i) => ({ id: String(1000 + i), name: '' }));
    const faults = await checkDataset(memoryDataset(manifest, { stations }), collections, { maxErrors: 3 });
    expect(faults.total).to.equal(500);
    expect(faults.kept).to.have.length(3);
    expect(faults.lines().at(-1)).to.equal('and 497 more');
  });

  it('hands over the rows of each collection in order, and tells its progress', async () => {
    const given: Record<string, Document[]> = {};
    const progress: unknown[] = [];
    await checkDataset(memoryDataset(manifest, { ...rows }), collections, {
      onRows: ({ name }, documents) => {
        given[name] = [...(given[name] ?? []), ...documents];
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

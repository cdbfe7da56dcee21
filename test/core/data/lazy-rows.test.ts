import { inspect } from 'node:util';
import { expect } from 'chai';
import { JsonFields } from '../../../core/data/json-fields.js';
import {
  firstRows,
  joinRows,
  lastRow,
  lazyRow,
  lazyRows,
  partialRows,
  rowText,
  textOf,
} from '../../../core/data/lazy-rows.js';
import { jsonRows } from '../../../core/data/packed-documents.js';

type Row = { id: number; name?: string };

const array = (): Row[] => [{ id: 1, name: 'ü' }, { id: 2 }, { id: 3 }];
const rows = () => lazyRows(jsonRows(array().slice(0, 2)), jsonRows([]), jsonRows(array().slice(2))) as Row[];

const text = (list: readonly object[]): string | undefined =>
  textOf(list)
    ?.map(({ json }) => json)
    .join(' ');

describe('lazyRows(...text)', () => {
  const reads: Record<string, (list: Row[]) => unknown> = {
    'an index': (list) => list[1],
    'an index past the end': (list) => list[3],
    length: (list) => list.length,
    'at()': (list) => list.at(-1),
    'map()': (list) => list.map(({ id }) => id),
    'a for loop': (list) => {
      const ids: number[] = [];
      for (const { id } of list) ids.push(id);
      return ids;
    },
    'a spread': (list) => [...list],
    'concat()': (list) => ([] as Row[]).concat(list, list),
    'Object.keys()': (list) => Object.keys(list),
    'Array.isArray()': (list) => Array.isArray(list),
    'the operator in': (list) => [1 in list, 3 in list],
    'console.log()': (list) => [inspect(list), Object.keys(list)],
    'JSON.stringify()': (list) => JSON.stringify({ data: list }),
    'sort()': (list) => list.sort((a, b) => b.id - a.id),
    'push()': (list) => [list.push({ id: 4 }), list.length, list[3]],
    'an assignment': (list) => {
      list[0] = { id: 9 };
      list.length = 2;
      return [...list];
    },
    'Object.freeze()': (list) => [Object.isFrozen(Object.freeze(list)), list[2]],
  };
  for (const [name, read] of Object.entries(reads)) {
    it(`returns the same as an array: ${name}`, () => expect(read(rows())).to.deep.equal(read(array())));
  }

  it('keeps its text when it is awaited, counted, or recognized as a list', async () => {
    const list = await Promise.resolve(rows());
    expect([Array.isArray(list), list.length, Symbol.asyncIterator in list]).to.deep.equal([true, 3, false]);
    expect((list as { [Symbol.asyncIterator]?: unknown })[Symbol.asyncIterator]).to.equal(undefined);
    expect(text(list)).to.not.equal(undefined);
  });

  it('drops its text when a row is read, because the row may then be changed', () => {
    const list = rows();
    expect(list.length).to.equal(3);
    expect(text(list)).to.equal('{"id":1,"name":"ü"},{"id":2} {"id":3}');
    list[0]!.name = 'changed';
    expect(text(list)).to.equal(undefined);
    expect(list[0]).to.deep.equal({ id: 1, name: 'changed' });
  });
});

describe('lazyRow(json)', () => {
  const json = '{"id":1,"then":"later","__proto__":{"a":1}}';
  const row = () => lazyRow(json);
  const reads: Record<string, (document: Record<string, unknown>) => unknown> = {
    'a field': (document) => document['id'],
    'a field called then': (document) => document['then'],
    'a missing field': (document) => [document['name'], 'name' in document, 'id' in document],
    'Object.entries()': (document) => Object.entries(document),
    'a spread': (document) => ({ ...document, id: 2 }),
    'console.log()': (document) => [inspect(document), Object.entries(document)],
    'JSON.stringify()': (document) => JSON.stringify([document]),
    'an assignment and delete': (document) => {
      document['id'] = 9;
      delete document['then'];
      return Object.entries(document);
    },
    'Object.freeze()': (document) => [Object.isFrozen(Object.freeze(document)), document['id']],
  };
  for (const [name, read] of Object.entries(reads)) {
    it(`returns the same as an object: ${name}`, () => expect(read(row())).to.deep.equal(read(JSON.parse(json))));
  }

  it('returns a property called then that the caller has added', () => {
    const document = lazyRow('{"id":1}') as Record<string, unknown>;
    document['then'] = 'later';
    expect(JSON.stringify(document)).to.equal('{"id":1,"then":"later"}');
  });

  it('keeps its text when it is awaited, and drops its text when a field is read', async () => {
    const text = '{"id":1}';
    const awaited = await Promise.resolve(lazyRow(text));
    expect(rowText(awaited)).to.equal(text);
    expect(awaited['id']).to.equal(1);
    expect(rowText(awaited)).to.equal(undefined);
  });

  it('is the only value that has a text', () => {
    for (const value of [undefined, null, 1, {}, [], rows()]) expect(rowText(value)).to.equal(undefined);
  });
});

describe('joinRows(lists)', () => {
  it('keeps the text if no list was read', () => {
    const joined = joinRows([rows(), rows()]);
    expect(text(joined)).to.equal('{"id":1,"name":"ü"},{"id":2} {"id":3} {"id":1,"name":"ü"},{"id":2} {"id":3}');
    expect(joined).to.deep.equal([...array(), ...array()]);
  });

  it('joins lists if some of them were read', () => {
    expect(joinRows([rows(), array()])).to.deep.equal([...array(), ...array()]);
  });
});

describe('firstRows(rows, count) and lastRow(rows)', () => {
  for (const count of [1, 2, 3]) {
    it(`find ${count} of 3 rows without parsing the remaining rows`, () => {
      const list = rows();
      const first = firstRows(list, count);
      expect(lastRow(first)).to.deep.equal(array()[count - 1]);
      expect(textOf(list)).to.not.equal(undefined);
      expect(textOf(first)).to.not.equal(undefined);
      expect(first).to.deep.equal(array().slice(0, count));
      expect(lastRow(first)).to.deep.equal(array()[count - 1]);
    });
  }
});

describe('partialRows(rows, fields)', () => {
  const fields = new JsonFields(['name', 'missing']);

  it('reads only these fields, and keeps the text', () => {
    const list = rows();
    expect(partialRows(list, fields)).to.deep.equal([{ name: 'ü' }, {}, {}]);
    expect(text(list)).to.not.equal(undefined);
  });

  it('returns the rows if they were parsed', () => {
    expect(partialRows(array(), fields)).to.deep.equal(array());
  });
});

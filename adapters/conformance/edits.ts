/** Small changes of a row, to catch adapters that publish by comparing a dataset with the previous version. */
import type { Document } from 'metro-forecast-api/adapter';
import type { Rows } from './fixture.js';

const whole: Document = {
  ratio: 0.1,
  flag: false,
  note: null,
  text: 'Été',
  tags: ['a', 'b', 'b'],
  more: { a: 1, b: { c: 'x', d: null }, list: [{ e: 1 }, { e: 2 }] },
};
const { note: _, ...withoutNote } = whole;
const more = (change: object): Document => ({ ...whole, more: { ...(whole['more'] as object), ...change } });

/** Sets of fields to add to a row. Each set differs from the previous set in one small change. */
export const DETAILS: Readonly<Record<string, Document>> = {
  'more fields': whole,
  'another value in a nested object': more({ b: { c: 'y', d: null } }),
  'another value in an object in a list': more({ list: [{ e: 1 }, { e: 3 }] }),
  'fewer members in a nested object': more({ b: { d: null } }),
  'a nested null absent': more({ b: { c: 'x' } }),
  'an empty nested object': more({ b: {} }),
  'a null absent': withoutNote,
  'an absent field null again': whole,
  'null instead of an object': { ...whole, more: null },
  'an empty list': { ...whole, tags: [] },
  'another order in a list': { ...whole, tags: ['b', 'a', 'b'] },
  'fewer equal values in a list': { ...whole, tags: ['a', 'b'] },
  'the next larger number': { ...whole, ratio: 0.1 + 2 ** -56 },
  'the next smaller number': { ...whole, ratio: 0.1 - 2 ** -56 },
  'zero instead of false': { ...whole, flag: 0 },
  'the empty string instead of false': { ...whole, flag: '' },
  'a number as text': { ...whole, ratio: '0.1' },
  'null as text': { ...whole, note: 'null' },
  'text in another case': { ...whole, text: 'été' },
  'text in another normal form': { ...whole, text: 'E\u0301te\u0301' },
  'text with a space at its end': { ...whole, text: 'Été ' },
  'text without accents': { ...whole, text: 'Ete' },
  'no more fields': {},
};

/** Returns the rows with additional fields in the item at the position `at`. */
export const detailed = (content: Rows, details: Document, at: number): Rows => {
  const items = content['items'] ?? [];
  if (items.length === 0) return content;
  const edited = items.map((item, i) => {
    if (i !== at % items.length) return item;
    const { id, grade, rank, label } = item;
    return { id, grade, rank, label, ...details };
  });
  return { ...content, items: edited };
};

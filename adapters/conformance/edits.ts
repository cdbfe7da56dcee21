/** Small changes of a row, to catch adapters that publish by comparing a dataset with the previous version. */
import type { Document } from 'metro-forecast-api/adapter';
import { isWithin, items as itemsCollection, type Rows } from './fixture.js';

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

/** Positions at which only one character differs. Some stores compare only the start, the end or the length of a row. */
const POSITIONS = [60, 300, 1100, 4200, 9000, 16_500, 19_999];
const LENGTH = 20_000;
const texts = (at: number, character: string) => `${'m'.repeat(at)}${character}${'m'.repeat(LENGTH - at - 1)}`;

/** Fields whose JSON text always has the same length. */
const lateEdits = (): Readonly<Record<string, Document>> => {
  const list = Array.from({ length: 3000 }, (_, i) => i % 10);
  const fields = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`field_${100 + i}`, i % 10]));
  const long = { text: texts(0, 'm'), list, fields, end: 'a' };
  return {
    'a long text': long,
    ...Object.fromEntries(
      POSITIONS.map((at) => [`another character at ${at} in a long text`, { ...long, text: texts(at, 'n') }]),
    ),
    'two characters exchanged in a long text': { ...long, text: `${texts(15_000, 'n').slice(0, -2)}ab` },
    'the same two characters in the other order': { ...long, text: `${texts(15_000, 'n').slice(0, -2)}ba` },
    'another value late in a long list': { ...long, list: list.with(2900, 7) },
    'two values exchanged in a long list': { ...long, list: list.with(2001, 2).with(2002, 1) },
    'another value in one of many fields': { ...long, fields: { ...fields, field_480: 7 } },
    'another value in the last field': { ...long, end: 'b' },
  };
};

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
  ...lateEdits(),
  'no more fields': {},
};

/** Returns the rows with additional fields in the item at the position `at`, unless they exceed the adapter's limits. */
export const detailed = (content: Rows, details: Document, at: number): Rows => {
  const items = content['items'] ?? [];
  if (items.length === 0) return content;
  const edited = items.map((item, i) => {
    if (i !== at % items.length) return item;
    const { id, grade, rank, label } = item;
    const edited = { id, grade, rank, label, ...details };
    return isWithin(itemsCollection, edited) ? edited : item;
  });
  return { ...content, items: edited };
};

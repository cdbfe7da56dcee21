/** Combines all parts of a query, for collections in which many documents share the first fields of an order. */
import { type Collection, compareScalars, type Document, type Query, type Scalar } from 'metro-forecast-api/adapter';
import { answerOf, ordersOf } from './reference.js';

type Range = NonNullable<Query['range']>;

/** Returns ranges of a field that match few, half, most and all of the documents. */
const rangesOf = (documents: readonly Document[], field: string): readonly Range[] => {
  const values = documents.map((document) => document[field] as Scalar).sort(compareScalars);
  const at = (part: number) => values[Math.round(part * (values.length - 1))]!;
  return [
    { field, from: at(0.5), to: at(0.5) },
    { field, from: at(0.5) },
    { field, to: at(0.8) },
    { field, from: at(0.1), to: at(0.9) },
    { field, from: at(0), to: at(1) },
  ];
};

const LIMITS = [1, 5, 40];

export function* combinations(collection: Collection, documents: readonly Document[]): Generator<Query> {
  let i = 0;
  for (const order of ordersOf(collection)) {
    const middle = documents[Math.floor(documents.length / 2)]!;
    for (const equal of [{}, { [order[0]!]: middle[order[0]!] as Scalar }]) {
      const free = order.slice(Object.keys(equal).length);
      const matching = answerOf(documents, { order, equal });
      const ranges = [free[0]!, free.at(-1)!].flatMap((field) => rangesOf(matching, field));
      for (const range of [undefined, ...ranges]) {
        for (const descending of [false, true]) {
          const query = { order, equal, descending, ...(range && { range }) };
          yield query;
          const start = matching[Math.floor((matching.length * (1 + (i % 3))) / 5)]!;
          const after = free.map((field) => start[field] as Scalar);
          yield { ...query, after };
          yield { ...query, limit: LIMITS[i++ % LIMITS.length]! };
          yield { ...query, after, limit: LIMITS[i++ % LIMITS.length]! };
        }
      }
    }
  }
}

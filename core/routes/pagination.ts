/**
 * Lists in pages, for routes of plugins: the parameters `limit` and `after`, and the next page in `Link` (RFC 8288).
 *
 * A page ends at a place: the values by which its last row is ordered. The next page is what comes behind that place in
 * the snapshot that answers it, so that a link stays valid when rows come and go.
 */
import type { Collection } from '../contracts/dataset.js';
import type { DataContext, Parameter, QueryOf, ResponseHeader } from '../contracts/plugin.js';
import type { Scalar } from '../contracts/storage.js';
import { compareScalars, isScalarOf, scalarType } from '../data/scalars.js';
import { invalidParameter } from '../errors.js';

export interface PageInput {
  readonly limit?: number;
  readonly after?: string;
}

export const pageParameters = {
  limit: {
    description: 'How many rows at most; the header `Link` then leads to the next ones. Without it: all.',
    schema: { type: 'integer', minimum: 1, maximum: 1000 },
    example: 100,
  },
  after: {
    description:
      'The place to go on behind: as it stands in the `next` link of the page before, with the same other parameters.',
    schema: { type: 'string', minLength: 1 },
  },
} as const satisfies Record<keyof PageInput, Parameter>;

export const pageHeaders: Readonly<Record<'Link', ResponseHeader>> = {
  Link: {
    description: 'The next page, relative to the address of this one. Absent from the last page.',
    example: '<?limit=100&format=json&after=WyJjYnNhIiwiMTIwNjAiXQ>; rel="next"',
  },
};

/** The values that an order compares. Null stands for an unknown value. */
type Place = readonly (Scalar | null)[];

const tokenOf = (order: string, place: Place): string =>
  Buffer.from(JSON.stringify([order, ...place])).toString('base64url');

/** Throws a 400 for what is no place in a list of this order. */
const placeIn = (token: string, order: string, isPlace: (place: Place) => boolean): Place => {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    parts = undefined;
  }
  const [named, ...place] = Array.isArray(parts) ? (parts as [unknown, ...(Scalar | null)[]]) : [undefined];
  if (typeof named === 'string' && named !== order) {
    const advice = 'send it with the same parameters, or leave it out to begin anew';
    throw invalidParameter('query', 'after', `is a place in a list of another order: ${advice}`);
  }
  if (named !== order || !isPlace(place) || tokenOf(order, place) !== token) {
    throw invalidParameter('query', 'after', 'must be as it stands in the "next" link of the page before');
  }
  return place;
};

/** Cuts rows to a page. A row beyond the page shows that there is a next one, which the header `Link` then names. */
const cut = <T>(
  rows: readonly T[],
  limit: number | undefined,
  context: Pick<DataContext, 'reference' | 'setHeader'>,
  tokenOfRow: (row: T) => string,
): readonly T[] => {
  if (limit === undefined || rows.length <= limit) return rows;
  const page = rows.slice(0, limit);
  const next = context.reference({ after: tokenOfRow(page.at(-1)!) });
  context.setHeader('Link', `<${next}>; rel="next"`);
  return page;
};

/**
 * One page of what a query finds, as `snapshot.find` has it; all of it without `limit`.
 * @param query without `after` and `limit`
 */
export const findPage = async <T extends object>(
  context: DataContext,
  collection: Collection<T>,
  query: Omit<QueryOf<NoInfer<T>>, 'after' | 'limit'>,
  { limit, after }: PageInput,
): Promise<readonly T[]> => {
  const fields: readonly string[] = (query.order ?? collection.key).slice(Object.keys(query.equal ?? {}).length);
  const order = fields.map((field) => (query.descending ? `-${field}` : field)).join();
  const isPlace = (place: Place) =>
    place.length === fields.length &&
    fields.every((field, i) => isScalarOf(scalarType(collection, field)!, place[i] as Scalar));
  const place = after === undefined ? undefined : (placeIn(after, order, isPlace) as readonly Scalar[]);
  const rows = await context.snapshot.find(collection, {
    ...query,
    ...(place && { after: place }),
    ...(limit !== undefined && { limit: limit + 1 }),
  });
  return cut(rows, limit, context, (row) => tokenOf(order, placeOf(fields, row as Row)));
};

type Row = Readonly<Record<string, Scalar | null>>;

const placeOf = (fields: readonly string[], row: Row): Place => fields.map((field) => row[field] ?? null);

/** An order of rows in memory. */
interface RowOrder<T> {
  readonly name: string;
  readonly fields: number;
  readonly placeOf: (row: T) => Place;
  readonly comparePlaces: (one: Place, other: Place) => number;
}

/**
 * @param fields what to order by, the first that differs deciding: ascending, or descending with a "-" before it. Nulls
 *   come last, whichever way the rest goes. Together they must tell any two rows apart.
 * @param read gives the value of a field; default: the row's property
 */
export const rowOrder = <T extends object>(
  fields: readonly string[],
  read: (row: T, field: string) => Scalar | null = (row, field) => (row as Row)[field] ?? null,
): RowOrder<T> => {
  const terms = fields.map((field) => ({ field: field.replace(/^-/, ''), sign: field.startsWith('-') ? -1 : 1 }));
  const placeOf = (row: T): Place => terms.map(({ field }) => read(row, field));
  const comparePlaces = (one: Place, other: Place): number => {
    for (const [i, { sign }] of terms.entries()) {
      const [x, y] = [one[i] ?? null, other[i] ?? null];
      if (x === y) continue;
      if (x === null) return 1;
      if (y === null) return -1;
      return sign * compareScalars(x, y);
    }
    return 0;
  };
  return { name: fields.join(), fields: fields.length, placeOf, comparePlaces };
};

const isScalarOrNull = (value: unknown): boolean =>
  value === null || typeof value === 'string' || Number.isFinite(value);

/** One page of rows in memory, in this order; all of them without `limit`. The rows may come in any order. */
export const pageOf = <T extends object>(
  context: Pick<DataContext, 'reference' | 'setHeader'>,
  rows: readonly T[],
  order: RowOrder<T>,
  { limit, after }: PageInput,
): readonly T[] => {
  const { placeOf, comparePlaces } = order;
  const sorted = [...rows].sort((one, other) => comparePlaces(placeOf(one), placeOf(other)));
  let start = 0;
  if (after !== undefined) {
    const isPlace = (place: Place) => place.length === order.fields && place.every(isScalarOrNull);
    const place = placeIn(after, order.name, isPlace);
    const found = sorted.findIndex((row) => comparePlaces(placeOf(row), place) > 0);
    start = found < 0 ? sorted.length : found;
  }
  return cut(sorted.slice(start), limit, context, (row) => tokenOf(order.name, placeOf(row)));
};

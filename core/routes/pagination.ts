/**
 * Pagination by position. `after` contains the sort position of the last row, so links remain valid when a snapshot
 * adds or removes rows.
 */
import type { Collection } from '../contracts/dataset.js';
import type { DataContext, Parameter, ResponseHeader } from '../contracts/plugin.js';
import type { ConditionField } from '../contracts/snapshot-reader.js';
import type { Scalar } from '../contracts/storage.js';
import { compareScalars, isScalarOf, scalarType } from '../data/scalars.js';
import { invalidParameter } from '../errors.js';

export interface PageInput {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

export const pageParameters = {
  limit: {
    description:
      'Maximum number of rows per page. A filtered page may have fewer. The `Link` header contains the URL of the next ' +
      'page. Default: all rows.',
    schema: { type: 'integer', minimum: 1, maximum: 1000 },
    example: 100,
  },
  after: {
    description:
      "Start of the page. Copy the value from the previous page's `next` link, and keep the other parameters.",
    schema: { type: 'string', minLength: 1 },
  },
} as const satisfies Record<keyof PageInput, Parameter>;

export const pageHeaders: Readonly<Record<'Link', ResponseHeader>> = {
  Link: {
    description: 'URL of the next page, relative to the URL of this page. Not sent with the last page.',
    example: '<?limit=100&format=json&after=WyJjYnNhIiwiMTIwNjAiXQ>; rel="next"',
  },
};

/** The values of a row in the fields of the sort order. Missing values are null. */
type Place = readonly (Scalar | null)[];

const tokenOf = (order: string, place: Place): string =>
  Buffer.from(JSON.stringify([order, ...place])).toString('base64url');

const placeIn = (token: string, order: string, isPlace: (place: Place) => boolean): Place => {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    parts = undefined;
  }
  const [named, ...place] = Array.isArray(parts) ? (parts as [unknown, ...(Scalar | null)[]]) : [undefined];
  if (typeof named === 'string' && named !== order) {
    const advice = 'send it with the same parameters, or leave it out to start from the first page';
    throw invalidParameter('query', 'after', `belongs to a list in a different order: ${advice}`);
  }
  if (named !== order || !isPlace(place) || tokenOf(order, place) !== token) {
    throw invalidParameter('query', 'after', 'must be copied from the "next" link of the previous page');
  }
  return place;
};

type PageContext = Pick<DataContext, 'reference' | 'setHeader'>;

export const linkNextPage = (context: PageContext, token: string): void =>
  context.setHeader('Link', `<${context.reference({ after: token })}>; rel="next"`);

/** Converts between `after` tokens and positions in one sort order of a collection. */
export const documentPlaces = (collection: Collection, fields: readonly string[], descending: boolean) => {
  const order = fields.map((field) => (descending ? `-${field}` : field)).join();
  const isPlace = (place: Place) =>
    place.length === fields.length &&
    place.length > 0 &&
    fields.every((field, i) => isScalarOf(scalarType(collection, field)!, place[i] as Scalar));
  return {
    /** @throws ApiError with status 400 if the token is invalid or belongs to a different order */
    placeIn: (token: string) => placeIn(token, order, isPlace) as readonly Scalar[],
    tokenOf: (document: object) => tokenOf(order, placeOf(fields, document as Row)),
  };
};

type Row = Readonly<Record<string, Scalar | boolean | null>>;

const scalarIn = (row: Row, field: string): Scalar | null => {
  const value = row[field] ?? null;
  return typeof value === 'boolean' ? Number(value) : value;
};

const placeOf = (fields: readonly string[], row: Row): Place => fields.map((field) => scalarIn(row, field));

interface RowOrder<T> {
  readonly name: string;
  readonly fields: number;
  readonly placeOf: (row: T) => Place;
  readonly comparePlaces: (one: Place, other: Place) => number;
}

export type OrderTerm<Field extends string> = Field | `-${Field}`;

/**
 * Creates an order for `pageOf`.
 * @param fields fields to sort by; a leading "-" means descending order. Later fields only break ties. Nulls come last
 * in both directions. No two rows can have the same values in all fields
 * @param read returns the value of a field. Default: the property of the row with that name
 * @example pageOf(context, rows, rowOrder(['-price', 'id']), { limit, after })
 */
export const rowOrder = <T extends object, Field extends string = ConditionField<T>>(
  fields: readonly OrderTerm<NoInfer<Field>>[],
  read: (row: T, field: Field) => Scalar | null = (row, field) => scalarIn(row as Row, field),
): RowOrder<T> => {
  const terms = fields.map((field) => ({
    field: field.replace(/^-/, '') as Field,
    sign: field.startsWith('-') ? -1 : 1,
  }));
  const placeOf = (row: T): Place => terms.map(({ field }) => read(row, field));
  const comparePlaces = (one: Place, other: Place): number => {
    for (let i = 0; i < terms.length; i++) {
      const x = one[i] ?? null;
      const y = other[i] ?? null;
      if (x === y) continue;
      if (x === null) return 1;
      if (y === null) return -1;
      return terms[i]!.sign * compareScalars(x, y);
    }
    return 0;
  };
  return { name: fields.join(), fields: fields.length, placeOf, comparePlaces };
};

const isScalarOrNull = (value: unknown): boolean =>
  value === null || typeof value === 'string' || Number.isFinite(value);

interface PlacedRow<T> {
  readonly row: T;
  readonly place: Place;
}

/**
 * Collects the rows of one page. Only about twice `limit` rows are kept, so that each batch takes little time and
 * memory.
 */
export class PageSorter<T extends object> {
  readonly #order: RowOrder<T>;
  readonly #limit: number;
  readonly #after: Place | undefined;
  #kept: PlacedRow<T>[] = [];
  /** Rows after this position are dropped, because they are neither on the page nor the first row of the next page. */
  #last: Place | undefined;

  constructor(order: RowOrder<T>, { limit = Number.POSITIVE_INFINITY, after }: PageInput) {
    const isPlace = (place: Place) => place.length === order.fields && place.every(isScalarOrNull);
    this.#order = order;
    this.#limit = limit;
    this.#after = after === undefined ? undefined : placeIn(after, order.name, isPlace);
  }

  add(rows: readonly T[]): void {
    const { placeOf, comparePlaces } = this.#order;
    for (const row of rows) {
      const place = placeOf(row);
      if (this.#after && comparePlaces(place, this.#after) <= 0) continue;
      if (this.#last && comparePlaces(place, this.#last) > 0) continue;
      this.#kept.push({ row, place });
      if (this.#kept.length > 2 * this.#limit + 1) this.#sort();
    }
  }

  page(context: PageContext): readonly T[] {
    this.#sort();
    const page = this.#kept.slice(0, this.#limit);
    if (page.length < this.#kept.length) linkNextPage(context, tokenOf(this.#order.name, page.at(-1)!.place));
    return page.map(({ row }) => row);
  }

  #sort(): void {
    const { comparePlaces } = this.#order;
    this.#kept.sort((one, other) => comparePlaces(one.place, other.place));
    if (this.#kept.length <= this.#limit) return;
    this.#kept.length = this.#limit + 1;
    this.#last = this.#kept.at(-1)!.place;
  }
}

/**
 * Sorts rows in memory and returns one page, or all rows if there is no `limit`. Sets the `Link` header if there is a
 * next page.
 * @param rows the rows in any order
 * @throws ApiError with status 400 if `after` is invalid or belongs to a different order
 */
export const pageOf = <T extends object>(
  context: PageContext,
  rows: readonly T[],
  order: RowOrder<T>,
  page: PageInput,
): readonly T[] => {
  const sorter = new PageSorter(order, page);
  sorter.add(rows);
  return sorter.page(context);
};

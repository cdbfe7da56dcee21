/** Selects documents by conditions, one page at a time, without reading the whole collection for a page. */
import type { Collection } from '../contracts/dataset.js';
import type { DataContext, QueryOf, StreamedList } from '../contracts/plugin.js';
import type { Scalar } from '../contracts/storage.js';
import { type Condition, matcherOf, planRead, type ReadPlan } from '../data/conditions.js';
import { collectRows, firstRows, joinRows, lastRow } from '../data/lazy-rows.js';
import { compareScalars } from '../data/scalars.js';
import { documentPlaces, linkNextPage, type PageInput } from './pagination.js';

/** The maximum number of documents that may be read for one page. */
const MOST_READ = 50_000;

export interface Selection {
  readonly where: readonly Condition[];
  /** One of the collection's orders. Default: the order for which the conditions leave the fewest documents to read. */
  readonly order?: readonly string[] | undefined;
  readonly descending?: boolean;
}

interface Reading {
  readonly descending: boolean;
  /** The position after which reading starts. */
  readonly place: readonly Scalar[] | undefined;
  readonly limit: number | undefined;
}

type Batches<T> = AsyncGenerator<readonly Readonly<T>[]>;

/** Yields the documents that a plan reads, before its remaining conditions are applied. */
async function* documentsOf<T extends object>(
  { snapshot }: DataContext,
  collection: Collection<T>,
  { order, equal, values, range }: ReadPlan,
  { descending, place, limit }: Reading,
): Batches<T> {
  const find = (parts: object) => {
    const query = {
      order,
      equal,
      ...(range && { range }),
      descending,
      ...(limit !== undefined && { limit }),
      ...parts,
    };
    return snapshot.stream(collection, query as QueryOf<T>);
  };
  if (!values) {
    yield* find(place ? { after: place } : {});
    return;
  }
  const field = order[Object.keys(equal).length]!;
  const [first, ...others] = place ?? [];
  for (const value of descending ? values.toReversed() : values) {
    const distance = first === undefined ? 1 : compareScalars(value, first) * (descending ? -1 : 1);
    const isOver = distance < 0 || (distance === 0 && others.length === 0);
    if (isOver) continue;
    yield* find({ equal: { ...equal, [field]: value }, ...(distance === 0 && { after: others }) });
  }
}

async function* matching<T extends object>(batches: Batches<T>, matches: (document: T) => boolean): Batches<T> {
  for await (const batch of batches) yield batch.filter(matches);
}

/** One page of documents. */
interface Page<T> {
  readonly rows: readonly Readonly<T>[];
  /** The document after which the next page starts. Undefined if there are no more documents. */
  readonly last?: Readonly<T>;
}

/** Takes the first documents. Only the last one is parsed. */
const take = async <T extends object>(batches: Batches<T>, limit: number): Promise<Page<T>> => {
  const read: (readonly Readonly<T>[])[] = [];
  let count = 0;
  for await (const batch of batches) {
    read.push(batch);
    count += batch.length;
    if (count > limit) break;
  }
  const rows = joinRows(read);
  if (count <= limit) return { rows };
  const page = firstRows(rows, limit);
  return { rows: page, last: lastRow(page) };
};

/** Takes the first matching documents. It stops after it has read `MOST_READ` documents. */
const sieve = async <T extends object>(
  batches: Batches<T>,
  limit: number,
  matches: (document: T) => boolean,
): Promise<Page<T>> => {
  const rows: Readonly<T>[] = [];
  let read = 0;
  for await (const batch of batches) {
    for (const document of batch) {
      const isMatch = matches(document);
      if (isMatch && rows.length === limit) return { rows, last: rows.at(-1)! };
      if (isMatch) rows.push(document);
      if (++read === MOST_READ) return { rows, last: document };
    }
  }
  return { rows };
};

/** Selects one page, or all documents if there is no `limit`. */
const select = async <T extends object>(
  context: DataContext,
  collection: Collection<T>,
  plan: ReadPlan,
  { descending = false, limit, after }: PageInput & { readonly descending?: boolean | undefined },
): Promise<StreamedList<Readonly<T>>['data'] | readonly Readonly<T>[]> => {
  const places = documentPlaces(collection, plan.order.slice(Object.keys(plan.equal).length), descending);
  const place = after === undefined ? undefined : places.placeIn(after);
  const isSieved = plan.rest.length > 0;
  const most = limit === undefined ? undefined : isSieved ? MOST_READ : limit + 1;
  const batches = documentsOf(context, collection, plan, { descending, place, limit: most });
  const matches = matcherOf(plan.rest) as (document: T) => boolean;
  if (limit === undefined) return isSieved ? matching(batches, matches) : batches;
  const { rows, last } = await (isSieved ? sieve(batches, limit, matches) : take(batches, limit));
  if (last) linkNextPage(context, places.tokenOf(last));
  return rows;
};

/**
 * Selects the documents that match the conditions: one page, or all documents if there is no `limit`. If no order
 * supports some conditions and only few documents match them, a page may have fewer documents than `limit` and still
 * link to a next page.
 */
export const selectPage = <T extends object>(
  context: DataContext,
  collection: Collection<T>,
  { where, order, descending }: Selection,
  page: PageInput,
) => select(context, collection, planRead(collection, where, order), { ...page, descending });

/** Finds one page of a query, or all documents if there is no `limit`. The query itself has no `after` or `limit`. */
export const findPage = async <T extends object>(
  context: DataContext,
  collection: Collection<T>,
  { descending, ...query }: Omit<QueryOf<NoInfer<T>>, 'after' | 'limit'>,
  page: PageInput,
): Promise<readonly Readonly<T>[]> => {
  const plan = { order: collection.key, equal: {}, ...query, rest: [] } as ReadPlan;
  const found = await select(context, collection, plan, { ...page, descending });
  return Symbol.asyncIterator in found ? collectRows(found) : found;
};

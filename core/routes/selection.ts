import type { Collection, Document } from '../contracts/dataset.js';
import type { DataContext, QueryOf, ScalarField, StreamedList } from '../contracts/plugin.js';
import type { ConditionField, NumberField } from '../contracts/snapshot-reader.js';
import type { Condition, Group, Operator, Scalar } from '../contracts/storage.js';
import { matcherOf, planRead, type ReadPlan, textFields } from '../data/conditions.js';
import { JsonFields } from '../data/json-fields.js';
import { collectRows, firstRows, joinRows, lastRow, partialRows } from '../data/lazy-rows.js';
import { compareScalars } from '../data/scalars.js';
import { TotalsCollector } from '../data/totals.js';
import { searchWords, wordMatcher } from '../data/words.js';
import { ApiError, defineError, invalidParameter } from '../errors.js';
import { documentPlaces, linkNextPage, type OrderTerm, type PageInput, PageSorter, rowOrder } from './pagination.js';

/** Maximum number of documents that are read one by one for a page or for totals. */
const MOST_READ = 50_000;
const MOST_GROUPS = 10_000;

/**
 * Thrown by `selectSorted`, `selectTotals` and `countMatching`. A route that calls one of these functions must list the
 * error in `errors`.
 */
export const tooManyRows = defineError({
  code: 'too_many_rows',
  status: 400,
  sentence:
    'The service would have to read too many rows for this request. Filter by the first columns of a sort order.',
  when: `The store would have to read more than ${MOST_READ.toLocaleString('en')} rows one by one.`,
});

/** If the document type is unknown, conditions can name any field. */
// biome-ignore lint/suspicious/noExplicitAny: see above
interface Matching<T = any> {
  readonly where: readonly Condition<ConditionField<T>>[];
  readonly words?: readonly string[] | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: like `Matching`
export interface Selection<T = any> extends Matching<T> {
  /** One of the collection's orders. Default: the order that requires reading the fewest documents. */
  readonly order?: readonly ScalarField<T>[] | undefined;
  readonly descending?: boolean;
}

interface Reading {
  readonly descending: boolean;
  readonly place: readonly Scalar[] | undefined;
  readonly limit: number | undefined;
  readonly words?: readonly string[] | undefined;
}

type Batches<T> = AsyncGenerator<readonly Readonly<T>[]>;

async function* documentsOf<T extends object>(
  { snapshot }: DataContext,
  collection: Collection<T>,
  { order, equal, values, range }: ReadPlan,
  { descending, place, limit, words }: Reading,
): Batches<T> {
  const find = (parts: object) => {
    const query = {
      order,
      equal,
      ...(range && { range }),
      descending,
      ...(limit !== undefined && { limit }),
      ...(words && { words }),
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

interface Page<T> {
  readonly rows: readonly Readonly<T>[];
  /** The next page starts after this document. Undefined if there are no more documents. */
  readonly last?: Readonly<T>;
}

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

/** Returns the columns declared in `search`, or all columns with text. */
export const searchedFields = (collection: Collection): readonly string[] =>
  collection.search ?? textFields(collection);

const filtersOf = <T extends object>(
  { snapshot }: DataContext,
  collection: Collection<T>,
  plan: ReadPlan,
  given: Matching,
) => {
  const words = given.words && snapshot.searches(collection) ? given.words : undefined;
  const isFound = given.words && !words ? wordMatcher(searchedFields(collection), given.words) : undefined;
  const isMatch = matcherOf(plan.rest);
  const matches = (document: Document): boolean => isMatch(document) && (isFound?.(document) ?? true);
  const isSieved = isFound !== undefined || plan.rest.length > 0;
  return { words, isSieved, matches: matches as (document: object) => boolean };
};

const select = async <T extends object>(
  context: DataContext,
  collection: Collection<T>,
  plan: ReadPlan,
  { descending = false, limit, after, ...given }: PageInput & Matching & { readonly descending?: boolean | undefined },
): Promise<StreamedList<Readonly<T>>['data'] | readonly Readonly<T>[]> => {
  const places = documentPlaces(collection, plan.order.slice(Object.keys(plan.equal).length), descending);
  const place = after === undefined ? undefined : places.placeIn(after);
  const { words, isSieved, matches } = filtersOf(context, collection, plan, given);
  const most = limit === undefined ? undefined : isSieved ? MOST_READ : limit + 1;
  const batches = documentsOf(context, collection, plan, { descending, place, limit: most, words });
  if (limit === undefined) return isSieved ? matching(batches, matches) : batches;
  const { rows, last } = await (isSieved ? sieve(batches, limit, matches) : take(batches, limit));
  if (last) linkNextPage(context, places.tokenOf(last));
  return rows;
};

/**
 * Selects one page of the matching documents, or all of them if there is no `limit`. If no index supports a condition
 * and few documents match, a page can have fewer documents than `limit` and still link to the next page.
 * @throws ApiError with status 400 if `after` is invalid or belongs to a different order
 */
export const selectPage = <T extends object>(
  context: DataContext,
  collection: Collection<T>,
  { order, descending, ...given }: Selection<NoInfer<T>>,
  page: PageInput,
) => select(context, collection, planRead(collection, given.where, order), { ...page, ...given, descending });

/** Finds one page of the documents that match a query, or all matching documents if there is no `limit`. */
export const findPage = async <T extends object>(
  context: DataContext,
  collection: Collection<T>,
  { descending, ...query }: Omit<QueryOf<NoInfer<T>>, 'after' | 'limit'>,
  page: PageInput,
): Promise<readonly Readonly<T>[]> => {
  const plan = { order: collection.key, equal: {}, ...query, rest: [] } as ReadPlan;
  const found = await select(context, collection, plan, { ...page, where: [], descending });
  return Symbol.asyncIterator in found ? collectRows(found) : found;
};

/**
 * Splits search text into words for `Selection.words`. Returns undefined if there is no text.
 * @throws ApiError with status 400 if the text contains no word
 */
export const wordsIn = (search: string | undefined): readonly string[] | undefined => {
  const words = search === undefined ? undefined : searchWords(search);
  if (words?.length === 0) throw invalidParameter('query', 'q', 'must contain a word');
  return words;
};

// biome-ignore lint/suspicious/noExplicitAny: like `Matching`
interface Grouping<T = any> extends Matching<T> {
  readonly by?: readonly ConditionField<T>[] | undefined;
  readonly of?: NumberField<T> | undefined;
}

const INCLUSIVE: Partial<Readonly<Record<Operator, Operator>>> = { gt: 'gte', lt: 'lte' };

const coveredBy = ({ rest, range }: ReadPlan, where: readonly Condition[]): readonly Condition[] =>
  where.flatMap((condition) => {
    if (!rest.includes(condition)) return [condition];
    const operator = condition.field === range?.field ? INCLUSIVE[condition.operator] : undefined;
    return operator ? [{ ...condition, operator }] : [];
  });

/**
 * @param fields if set, only these fields are read
 * @throws ApiError `too_many_rows`
 */
async function* readMatching(
  context: DataContext,
  collection: Collection,
  given: Matching,
  fields?: JsonFields,
): Batches<Document> {
  const plan = planRead(collection, given.where);
  const { words, matches } = filtersOf(context, collection, plan, given);
  // A request for too many documents is rejected early if the store can count them.
  const covered = { where: coveredBy(plan, given.where), by: [], limit: 1, ...(words && { words }) };
  const counted = await context.snapshot.totals(collection, covered);
  if (counted && counted[0]!.count > MOST_READ) throw new ApiError(tooManyRows);
  let read = 0;
  const limit = MOST_READ + 1;
  for await (const batch of documentsOf(context, collection, plan, {
    descending: false,
    place: undefined,
    limit,
    words,
  })) {
    read += batch.length;
    if (read > MOST_READ) throw new ApiError(tooManyRows);
    yield (fields ? partialRows(batch, fields) : batch).filter(matches);
  }
}

const readTotals = async (context: DataContext, collection: Collection, { by = [], of, ...given }: Grouping) => {
  const collector = new TotalsCollector({ by, ...(of !== undefined && { of }) });
  const { where, words } = given;
  const fields = new Set([...by, ...where.map(({ field }) => field), ...(words ? searchedFields(collection) : [])]);
  if (of !== undefined) fields.add(of);
  for await (const batch of readMatching(context, collection, given, new JsonFields([...fields]))) {
    for (const document of batch) collector.add(document);
    if (collector.size > MOST_GROUPS) break;
  }
  return collector.groups();
};

/**
 * Selects a page in an order that the collection does not declare. Reads and sorts all matching documents.
 * @throws ApiError `too_many_rows` if more than 50,000 documents would have to be read
 */
export const selectSorted = async <T extends object>(
  context: DataContext,
  collection: Collection<T>,
  { sort, ...given }: Matching<NoInfer<T>> & { readonly sort: OrderTerm<ConditionField<NoInfer<T>>> },
  page: PageInput,
): Promise<readonly Readonly<T>[]> => {
  const sorter = new PageSorter(rowOrder<T>([sort, ...(collection.key as readonly ConditionField<T>[])]), page);
  for await (const batch of readMatching(context, collection, given)) sorter.add(batch as readonly T[]);
  return sorter.page(context);
};

/**
 * Groups the matching documents and computes totals for each group. If the store cannot compute the totals, the
 * documents are read one by one.
 * @throws ApiError with status 400 if there are more than 10,000 groups, or more than 50,000 documents to read
 */
export const selectTotals = async <T extends object>(
  context: DataContext,
  collection: Collection<T>,
  grouping: Grouping<NoInfer<T>>,
): Promise<readonly Group[]> => {
  const { where, words, by = [], of } = grouping;
  const query = { where, by, limit: MOST_GROUPS + 1, ...(words && { words }), ...(of !== undefined && { of }) };
  const groups =
    (await context.snapshot.totals(collection, query)) ?? (await readTotals(context, collection, grouping));
  if (groups.length > MOST_GROUPS) {
    const problem = `produces more than ${MOST_GROUPS} groups: filter the rows, or group by a column with fewer values`;
    throw invalidParameter('query', 'by', problem);
  }
  return groups;
};

/**
 * Counts the matching documents.
 * @throws ApiError `too_many_rows` if more than 50,000 documents would have to be read
 */
export const countMatching = async <T extends object>(
  context: DataContext,
  collection: Collection<T>,
  matching: Matching<NoInfer<T>>,
): Promise<number> => (await selectTotals(context, collection, matching))[0]!.count;

import { allCollections } from '../../../../adapters/conformance/fixture.js';
import { letters } from '../../../../adapters/conformance/letter-rows.js';
import { wide, wider } from '../../../../adapters/conformance/random-rows.js';
import { notes } from '../../../../adapters/conformance/totals-fixture.js';
import memory from '../../../../adapters/memory.js';
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Condition, Group, Query, Snapshot, TotalsQuery } from '../../../../core/contracts/storage.js';
import { matcherOf } from '../../../../core/data/conditions.js';
import { compareScalars } from '../../../../core/data/scalars.js';
import { TotalsCollector } from '../../../../core/data/totals.js';
import { wordMatcher, wordsOf } from '../../../../core/data/words.js';
import { inSnapshot, inSnapshots } from '../breakable.js';
import { aborted, type BrokenAdapter } from './breaking.js';

const TOTALS = 'totals(collection, query)';
const COUNTS = `${TOTALS} counts the documents of each group, for every combination of fields and conditions`;
const NUMBERS = `${TOTALS} totals the numbers of each group, and leaves out null and missing values`;
const SUMS = `${TOTALS} sums to 15 significant digits: beyond 64 bits, and small numbers next to large ones`;
const OPERATORS = `${TOTALS} applies every operator to every value, one or two conditions at a time`;
const OVERLAPPING = `${TOTALS} returns the totals of each query when others run at the same time or are aborted`;
const SEARCH = 'find(collection, query) with words';
const FINDS = `${SEARCH} yields the documents that contain all words, in order`;
const EVERY_WORD = `${SEARCH} finds every word and every prefix, also at the end of a long text`;
const LIMITS = `${SEARCH} limits totals to the documents that contain all words`;

export const totalsRules = [COUNTS, NUMBERS] as const;

/** Searchable fields of `notes` and `wide`. */
const searched = ['town', 'title', 'note'];
const collections = new Map([...allCollections.values(), notes, wide, wider, letters].map((each) => [each.name, each]));
const keyOf = (name: string) => collections.get(name)?.key ?? ['id'];

async function* found(
  snapshot: Snapshot,
  name: string,
  { words, limit, ...query }: Query,
  signal?: AbortSignal,
  matcher = wordMatcher,
) {
  if (!words) return yield* snapshot.find(name, { ...query, ...(limit !== undefined && { limit }) }, signal);
  const contains = matcher(searched, words);
  let left = limit ?? Number.POSITIVE_INFINITY;
  for await (const batch of snapshot.find(name, query, signal)) {
    const rows = batch.filter(contains).slice(0, left);
    left -= rows.length;
    yield rows;
  }
}

export const totalsOf = async (snapshot: Snapshot, name: string, query: TotalsQuery, signal?: AbortSignal) => {
  if (signal?.aborted) throw aborted();
  const collector = new TotalsCollector(query);
  const matches = matcherOf(query.where);
  const { words } = query;
  for await (const batch of found(snapshot, name, { order: keyOf(name), ...(words && { words }) }))
    for (const document of batch.filter(matches)) collector.add(document);
  return collector.groups().slice(0, query.limit);
};

/** Adds totals and word search to a snapshot of the memory adapter. */
export const searching = (snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  findJson: undefined as never,
  searches: true,
  find: (name, query, signal) => found(snapshot, name, query, signal),
  totals: (name, query, signal) => totalsOf(snapshot, name, query, signal),
});

export const SEARCHING = { ...memory.capabilities, json: false, search: true };

const same = <T>(value: T): T => value;

/** Adds totals and word search to the memory adapter. Each parameter can introduce a bug in queries or results. */
const totalling = (
  changed: (query: TotalsQuery) => TotalsQuery,
  change: (groups: readonly Group[], query: TotalsQuery) => readonly Group[] = same,
  asked: (query: Query) => Query = same,
  matcher = wordMatcher,
): Pick<BrokenAdapter, 'fault' | 'capabilities'> => ({
  capabilities: SEARCHING,
  fault: inSnapshot((snapshot) => ({
    findJson: undefined as never,
    searches: true,
    find: (name, query, signal): AsyncGenerator<readonly Document[]> =>
      found(snapshot, name, asked(query), signal, matcher),
    totals: async (name, query, signal) => change(await totalsOf(snapshot, name, changed(query), signal), query),
  })),
});

const searchingFor = (change: (words: readonly string[]) => readonly string[]) =>
  totalling(same, same, ({ words, ...query }) => ({ ...query, ...(words && { words: change(words) }) }));

/** An `eq` filter also matches documents whose field equals `other(value)`. */
const equalling = (other: (value: string) => string) =>
  totalling(({ where, ...query }) => ({
    ...query,
    where: where.map((each) =>
      each.operator === 'eq' && typeof each.value === 'string'
        ? { ...each, operator: 'in', value: [each.value, other(each.value)] }
        : each,
    ),
  }));

const COMMON = ['the', 'of', 'a', 'to', 'not', 'or'];

const summing = (change: (sum: number) => number) =>
  totalling(same, (groups) =>
    groups.map(({ numbers, ...group }) => ({
      ...group,
      ...(numbers && { numbers: { ...numbers, sum: change(numbers.sum) } }),
    })),
  );

const plainly = (snapshot: Snapshot) => async (name: string, query: TotalsQuery, signal?: AbortSignal) => {
  const groups = await totalsOf(snapshot, name, query, signal);
  if (query.of !== 'price' || query.by.length > 0 || query.where.length > 0) return groups;
  let sum = 0;
  for await (const batch of snapshot.find(name, { order: keyOf(name) }))
    for (const { price } of batch) sum += price as number;
  return groups.map((group) => ({ ...group, numbers: { ...group.numbers!, sum } }));
};

const asText = (operator: Condition['operator'], matches: (found: unknown, value: Condition['value']) => boolean) =>
  ({
    capabilities: { ...memory.capabilities, json: false },
    fault: inSnapshot((snapshot) => ({
      findJson: undefined as never,
      async totals(name, { where, ...query }, signal) {
        if (signal?.aborted) throw aborted();
        const special = where.filter((each) => each.operator === operator);
        const rest = where.filter((each) => each.operator !== operator);
        const collector = new TotalsCollector(query);
        const isRight = matcherOf(rest);
        for await (const batch of snapshot.find(name, { order: keyOf(name) })) {
          for (const document of batch.filter(isRight)) {
            if (special.every(({ field, value }) => matches(document[field] ?? null, value))) collector.add(document);
          }
        }
        return collector.groups().slice(0, query.limit);
      },
    })),
  }) satisfies Partial<BrokenAdapter>;

export const totalsFaults: readonly BrokenAdapter[] = [
  {
    that: 'never returns groups',
    fault: inSnapshot(() => ({ totals: async () => undefined })),
    fails: [COUNTS],
  },
  {
    that: 'returns at most 100 groups',
    ...totalling((query) => ({ ...query, limit: Math.min(query.limit, 100) })),
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'loses all values of a list after the first 999',
    ...totalling(({ where, ...query }) => ({
      ...query,
      where: where.map((each) => (Array.isArray(each.value) ? { ...each, value: each.value.slice(0, 999) } : each)),
    })),
    fails: [COUNTS],
  },
  {
    that: 'ignores conditions on the empty string',
    ...totalling(({ where, ...query }) => ({
      ...query,
      where: where.filter(({ operator, value }) => operator !== 'eq' || value !== ''),
    })),
    fails: [COUNTS],
  },
  {
    that: 'applies only the first two conditions',
    ...totalling(({ where, ...query }) => ({ ...query, where: where.slice(0, 2) })),
    fails: [COUNTS],
  },
  {
    that: 'sorts the conditions that it receives',
    ...totalling((query) => {
      (query.where as Condition[]).sort((a, b) => a.field.localeCompare(b.field));
      return query;
    }),
    fails: [`${TOTALS} does not change the query that it receives`],
  },
  {
    that: 'leaves out the group of null',
    ...totalling(same, (groups) => groups.filter(({ values }) => values.length === 0 || values[0] !== null)),
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'ignores the conditions of totals that have words',
    ...totalling(({ where, ...query }) => ({ ...query, where: query.words ? [] : where })),
    fails: [LIMITS],
  },
  {
    that: 'returns a sum of 0 for groups without numbers',
    ...totalling(same, (groups) =>
      groups.map((group) => ({ numbers: { count: 0, sum: 0, min: 0, max: 0 }, ...group })),
    ),
    fails: [COUNTS, NUMBERS, LIMITS],
  },
  {
    that: 'returns all groups regardless of the limit',
    ...totalling((query) => ({ ...query, limit: 10_000 })),
    fails: [`${TOTALS} returns at most limit groups`],
  },
  {
    that: 'ignores the fraction of bounds in conditions',
    ...totalling(({ where, ...query }) => ({
      ...query,
      where: where.map((each) =>
        /^[gl]t/.test(each.operator) && typeof each.value === 'number'
          ? { ...each, value: Math.trunc(each.value) }
          : each,
      ),
    })),
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'treats null as the largest value in conditions',
    fault: inSnapshot((snapshot) => ({
      findJson: undefined as never,
      async totals(name, query, signal) {
        const groups = await totalsOf(snapshot, name, query, signal);
        const [only, ...others] = query.where;
        if (!only?.operator.startsWith('gt') || others.length > 0 || query.by.length > 0) return groups;
        const where = [{ field: only.field, operator: 'null', value: true }] as const;
        const [nulls] = await totalsOf(snapshot, name, { ...query, where }, signal);
        return groups.map((group) => ({ ...group, count: group.count + nulls!.count }));
      },
    })),
    capabilities: { ...memory.capabilities, json: false },
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'merges the groups of null and "null"',
    ...totalling(same, (groups, { by }) => {
      const [none, text] = [null, 'null'].map((value) => groups.find(({ values }) => values[0] === value));
      if (by.length !== 1 || !none || !text) return groups;
      return [
        ...groups.filter((group) => group !== none && group !== text),
        { ...none, count: none.count + text.count },
      ];
    }),
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'merges groups of numbers with the same six decimals',
    ...totalling(same, (groups, { by }) => {
      if (by.length !== 1) return groups;
      const merged = new Map<unknown, Group>();
      for (const group of groups) {
        const [value] = group.values;
        const name = typeof value === 'number' ? value.toFixed(6) : value;
        merged.set(name, { ...group, count: group.count + (merged.get(name)?.count ?? 0) });
      }
      return [...merged.values()];
    }),
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'searches the current version in an earlier snapshot',
    ...totalling(same),
    fault: inSnapshot((snapshot, adapter) => ({
      findJson: undefined as never,
      searches: true,
      totals: (name, query, signal) => totalsOf(snapshot, name, query, signal),
      async *find(name, query, signal) {
        const current = adapter.snapshot();
        try {
          yield* found(query.words ? current : snapshot, name, query, signal);
        } finally {
          current.release();
        }
      },
    })),
    fails: [`${SEARCH} reads the version of its snapshot`],
  },
  {
    that: 'loses a group if there are as many groups as the limit',
    ...totalling(same, (groups, { limit }) => (groups.length === limit && limit > 1 ? groups.slice(1) : groups)),
    fails: [`${TOTALS} returns at most limit groups`],
  },
  {
    that: 'counts the documents of the current version in the totals of an earlier one',
    fault: inSnapshot((_snapshot, adapter) => ({
      async totals(...query) {
        const current = adapter.snapshot();
        try {
          return await current.totals!(...query);
        } finally {
          current.release();
        }
      },
    })),
    fails: ['snapshot() reads its own version, whatever was read from another one before'],
  },
  {
    that: 'finds documents that contain any of the words',
    ...totalling(same, undefined, ({ words, ...query }) => ({ ...query, ...(words && { words: words.slice(0, 1) }) })),
    fails: [FINDS],
  },
  {
    that: 'counts a document once for each time that a list contains its value',
    ...totalling(same, (groups, { where }) =>
      where.some(({ value }) => Array.isArray(value) && new Set(value).size < value.length)
        ? groups.map((group) => ({ ...group, count: 2 * group.count }))
        : groups,
    ),
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'ignores conditions with an empty list',
    ...totalling(({ where, ...query }) => ({
      ...query,
      where: where.filter(({ value }) => !Array.isArray(value) || value.length > 0),
    })),
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'groups -0 and 0 separately',
    ...totalling(same, (groups) =>
      groups.flatMap((group) =>
        group.values[0] === 0 && group.count > 1
          ? [
              { ...group, count: group.count - 1 },
              { ...group, count: 1 },
            ]
          : [group],
      ),
    ),
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'does not resume the timeout of a query that waited',
    fault: inSnapshot((snapshot) => ({
      totals(name, query, signal, onWait) {
        onWait?.();
        return snapshot.totals!(name, query, signal);
      },
    })),
    fails: [`${TOTALS} resumes the timeout each time it has called onWait()`],
  },
  {
    that: 'ignores common words in searches',
    ...totalling(same, undefined, ({ words, ...query }) => ({
      ...query,
      ...(words && { words: words.filter((word) => !COMMON.includes(word)) }),
    })),
    fails: [FINDS],
  },
  {
    that: 'finds a prefix inside words',
    ...totalling(same, same, same, (fields, words) => (document) => {
      const own = fields.flatMap((field) => wordsOf(String(document[field] ?? '')));
      return words.every((word) =>
        own.some((each) => (word.endsWith('*') ? each.includes(word.slice(0, -1)) : each === word)),
      );
    }),
    fails: [FINDS],
  },
  {
    that: 'finds the word "null" in missing texts',
    ...totalling(same, same, same, (fields, words) => {
      const contains = wordMatcher(fields, words);
      return (document) =>
        contains(Object.fromEntries(fields.map((field) => [field, String(document[field] ?? null)])));
    }),
    fails: [FINDS],
  },
  {
    that: 'ignores case in conditions',
    ...equalling((value) => value.toLowerCase()),
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'ignores trailing spaces in conditions',
    ...equalling((value) => `${value} `),
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'applies only the last condition with the same field and operator',
    ...totalling(({ where, ...query }) => ({
      ...query,
      where: where.filter(
        ({ field, operator }, i) =>
          !where.slice(i + 1).some((other) => other.field === field && other.operator === operator),
      ),
    })),
    fails: [COUNTS, NUMBERS],
  },
  {
    that: 'shortens words to 40 characters',
    ...totalling(same, undefined, ({ words, ...query }) => ({
      ...query,
      ...(words && { words: words.map((word) => word.slice(0, 40)) }),
    })),
    fails: [FINDS],
  },
  {
    that: 'searches only for the first three words',
    ...searchingFor((words) => words.slice(0, 3)),
    fails: [FINDS],
  },
  {
    that: 'searches only for the first 64 characters',
    ...searchingFor((words) => words.join(' ').slice(0, 64).trim().split(' ')),
    fails: [FINDS],
  },
  {
    that: 'ignores words of one letter if there are longer ones',
    ...searchingFor((words) =>
      words.every((word) => word.length < 2) ? words : words.filter((word) => word.length > 1),
    ),
    fails: [FINDS],
  },
  {
    that: 'finds a repeated word only in documents that repeat it',
    ...totalling(same, same, same, (fields, words) => {
      const contains = wordMatcher(fields, words);
      const repeated = words.filter((word, i) => words.indexOf(word) !== i);
      return (document) => {
        const all = fields.flatMap((field) => wordsOf(String(document[field] ?? '')));
        return contains(document) && repeated.every((word) => all.filter((each) => each === word).length > 1);
      };
    }),
    fails: [FINDS],
  },
  {
    that: 'returns cached documents of a search after it was closed',
    ...totalling(same),
    fault: inSnapshots(() => {
      const cache = new Map<string, readonly Document[]>();
      return (snapshot) => ({
        findJson: undefined as never,
        searches: true,
        totals: (name, query, signal) => totalsOf(snapshot, name, query, signal),
        async *find(name, query, signal) {
          const id = JSON.stringify([snapshot.version, name, query]);
          if (!query.words) return yield* snapshot.find(name, query, signal);
          const rows: Document[] = [];
          const known = cache.get(id);
          if (known) return yield known;
          for await (const batch of found(snapshot, name, query, signal)) rows.push(...batch);
          cache.set(id, rows);
          yield rows;
        },
      });
    }),
    fails: [`${SEARCH} rejects with closed after close(), even if the same words were searched before`],
  },
  {
    that: 'limits sums to 64 bits',
    ...summing((sum) => Math.min(sum, 2 ** 63 - 1)),
    fails: [SUMS],
  },
  {
    that: 'rounds sums to 13 digits',
    ...summing((sum) => Number(sum.toPrecision(13))),
    fails: [SUMS],
  },
  {
    that: 'adds numbers without compensation',
    capabilities: { ...memory.capabilities, json: false },
    fault: inSnapshot((snapshot) => ({ findJson: undefined as never, totals: plainly(snapshot) })),
    fails: [SUMS],
  },
  {
    that: 'compares strings that contain digits as numbers',
    ...asText('lt', (found, value) => {
      if (found === null) return false;
      const [a, b] = [Number(found), Number(value)];
      const areNumbers = found !== '' && value !== '' && !Number.isNaN(a) && !Number.isNaN(b);
      return areNumbers ? a < b : compareScalars(found as string, value as string) < 0;
    }),
    fails: [OPERATORS],
  },
  {
    that: 'compares the values of a list as text, so that null equals "null"',
    ...asText('in', (found, value) => (value as readonly unknown[]).map(String).includes(String(found))),
    fails: [OPERATORS],
  },
  {
    that: 'blocks all later totals when one is aborted',
    capabilities: memory.capabilities,
    fault: inSnapshots(() => {
      let last: Promise<unknown> = Promise.resolve();
      return (snapshot) => ({
        async totals(name, query, signal) {
          if (signal?.aborted) throw aborted();
          const before = last;
          let finish = (): void => {};
          last = new Promise<void>((resolve) => {
            finish = resolve;
          });
          await before;
          if (signal?.aborted) throw aborted();
          const groups = await snapshot.totals!(name, query);
          finish();
          return groups;
        },
      });
    }),
    fails: [OVERLAPPING],
  },
  {
    that: 'indexes only the first 1,000 words of a text',
    ...totalling(same, same, same, (fields, words) => (document) => {
      const first = fields.map((field) =>
        wordsOf(String(document[field] ?? ''))
          .slice(0, 1000)
          .join(' '),
      );
      return wordMatcher(fields, words)(Object.fromEntries(fields.map((field, i) => [field, first[i]])));
    }),
    fails: [EVERY_WORD],
  },
  ...Object.entries({
    'reads names of fields with a dot as paths': (field: string) => field.split('.')[0]!,
    'ignores quotes in names of fields': (field: string) => field.replaceAll(/['"`]/g, ''),
    'ignores case in names of fields': (field: string) => (field === 'A' ? 'a' : field),
  }).map(
    ([that, change]): BrokenAdapter => ({
      that: `${that} for totals`,
      ...totalling(({ where, by, ...query }) => ({
        ...query,
        where: where.map((each) => ({ ...each, field: change(each.field) })),
        by: by.map(change),
      })),
      fails: [`${TOTALS} reads fields with any name: dots, spaces, quotes, case and keywords`],
    }),
  ),
  {
    that: 'removes tags from texts before it searches them',
    ...totalling(same, same, same, (fields, words) => (document) => {
      const text = (field: string) => String(document[field] ?? '').replaceAll(/<[^>]*>/g, ' ');
      return wordMatcher(fields, words)(Object.fromEntries(fields.map((field) => [field, text(field)])));
    }),
    fails: [EVERY_WORD],
  },
  {
    that: 'searches an index that collections with the same keys share',
    capabilities: SEARCHING,
    fault: inSnapshot((snapshot) => ({
      findJson: undefined as never,
      searches: true,
      find: (name, query, signal): AsyncGenerator<readonly Document[]> =>
        found(snapshot, query.words && name === 'note_twins' ? 'notes' : name, query, signal, wordMatcher),
    })),
    fails: ['find(collection, query) with words finds the words of its own collection'],
  },
  {
    that: 'adds up the groups of the first of two fields if there are as many groups as the limit',
    ...totalling(same, (groups, { by, limit }) => {
      if (by.length < 2 || groups.length < limit) return groups;
      const countOf = (value: unknown) =>
        groups.reduce((sum, { values, count }) => (values[0] === value ? sum + count : sum), 0);
      return groups.map((group) => ({ ...group, count: countOf(group.values[0]) }));
    }),
    fails: [`${TOTALS} returns at most limit groups`],
  },
  {
    that: 'returns no group for an empty collection',
    ...totalling(same, (groups, query) => (query.by.length === 0 && groups[0]?.count === 0 && !query.of ? [] : groups)),
    fails: [`${TOTALS} counts no documents in an empty collection: one group without fields, none with fields`, COUNTS],
  },
];

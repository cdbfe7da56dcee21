import assert from 'node:assert/strict';
import type { Collection, Condition, Query } from 'metro-forecast-api/adapter';
import type { AdapterUnderTest } from './adapter-under-test.js';
import { failsWith, sameList, sameSequence, sameValue } from './expect.js';
import { find, findJson } from './find-rows.js';
import { datasetOf, FIRST, FIRST_CREATED, nothing, SECOND, SECOND_CREATED } from './fixture.js';
import { makeCurrent, startInstance, withSnapshot } from './instance.js';
import { describeNotes, startNotes } from './notes.js';
import { cannotChange, itUnless, without } from './obstacles.js';
import { odd, oddQueries, oddRows } from './odd-fields.js';
import { inOrder, searchedFor, totalsIn } from './reference.js';
import { limitsGroups, MANY, resumesEveryWait, sameGroups } from './totals-checks.js';
import {
  CONDITIONS,
  everyCondition,
  everyWord,
  foundBy,
  groupsOf,
  longLists,
  noteRows,
  notes,
  noteTwinRows,
  noteTwins,
  SEAT_QUERIES,
  SIMILAR_QUERIES,
  seatRows,
  seats,
  WORDS,
} from './totals-fixture.js';

const GROUPINGS = [
  [],
  ['part'],
  ['town'],
  ['level'],
  ['share'],
  ['checked'],
  ['note'],
  ['checked', 'note'],
  ['note', 'checked'],
  ['id'],
  ['level', 'town'],
];
const searchedSeats: ReadonlyMap<string, Collection> = new Map([[seats.name, seats]]);

export const describeTotals = (target: AdapterUnderTest): void => {
  const obstacle = without(target, 'totals');

  describeNotes(target, 'totals(collection, query)', obstacle, (test) => {
    test(
      obstacle,
      'counts the documents of each group, for every combination of fields and conditions',
      async (snapshot) => {
        let answered = 0;
        for (const by of GROUPINGS)
          for (const where of CONDITIONS) if (await sameGroups(snapshot, { where, by })) answered++;
        assert(answered > 0, 'expected totals() to return groups for at least one of the queries');
      },
    );
    test(obstacle, 'applies every operator to every value, one or two conditions at a time', async (snapshot) => {
      const conditions = everyCondition();
      for (const [i, condition] of conditions.entries()) {
        await sameGroups(snapshot, { where: [condition], by: GROUPINGS[i % GROUPINGS.length]! });
        const where = [condition, conditions[(i * 7 + 3) % conditions.length]!];
        await sameGroups(snapshot, { where, by: [], of: 'share' });
      }
    });
    test(obstacle, 'applies in to lists of any length, and counts a document once', async (snapshot) => {
      const other: Condition = { field: 'id', operator: 'in', value: noteRows.map(({ id }) => id as number) };
      for (const list of longLists()) {
        await sameGroups(snapshot, { where: [list], by: ['part', 'town'] });
        await sameGroups(snapshot, { where: [other, list], by: [], of: 'share' });
      }
    });
    test(obstacle, 'totals the numbers of each group, and leaves out null and missing values', async (snapshot) => {
      for (const by of GROUPINGS)
        for (const where of CONDITIONS) await sameGroups(snapshot, { where, by, of: 'share' });
    });
    test(
      obstacle,
      'sums to 15 significant digits: beyond 64 bits, and small numbers next to large ones',
      async (snapshot) => {
        for (const of of ['mass', 'price'])
          for (const by of [[], ['part'], ['checked'], ['town', 'part']])
            for (const where of CONDITIONS.slice(0, 4)) await sameGroups(snapshot, { where, by, of });
      },
    );
    test(obstacle, 'returns the totals of each query, if the previous query differs in one part', async (snapshot) => {
      for (const [one, other] of SIMILAR_QUERIES)
        for (const query of [one, other, one]) await sameGroups(snapshot, query);
      for (const grouping of [{ by: ['town', 'part'], of: 'share' }, { by: ['level'] }])
        for (const limit of [2, MANY, 1]) {
          const query = { where: [], ...grouping, limit };
          const found = await snapshot.totals!('notes', query);
          const count = Math.min(limit, groupsOf(query).length);
          if (found) sameValue(found.length, count, `the number of groups with limit ${limit}`);
        }
      const query = { where: [], by: [], limit: 1 };
      for (const name of ['notes', nothing.name, 'notes']) {
        const found = await snapshot.totals!(name, query);
        if (found) sameValue(found[0]?.count, name === 'notes' ? noteRows.length : 0, `the count of ${name}`);
      }
    });
    test(obstacle, 'returns at most limit groups', async (snapshot) => {
      const somewhere: Condition = { field: 'town', operator: 'gte', value: 'Brno' };
      for (const by of GROUPINGS)
        for (const parts of [{ where: [], of: 'share' }, { where: [somewhere] }])
          await limitsGroups(snapshot, { ...parts, by });
    });
    test(obstacle, 'reads fields with any name: dots, spaces, quotes, case and keywords', async (snapshot) => {
      for (const query of oddQueries) {
        const asked = { ...query, limit: MANY };
        const found = await snapshot.totals!(odd.name, structuredClone(asked));
        if (found) sameList(inOrder(found), totalsIn(odd, oddRows, asked), `the groups of ${JSON.stringify(query)}`);
      }
    });
    test(
      obstacle,
      'counts no documents in an empty collection: one group without fields, none with fields',
      async (snapshot) => {
        for (const where of [[], [{ field: 'id', operator: 'not', value: 'x' } as const]]) {
          for (const [by, expected] of [
            [[], [{ values: [], count: 0 }]],
            [['id'], []],
          ] as const) {
            const found = await snapshot.totals!(nothing.name, { where, by, limit: 10 });
            if (found) sameList(inOrder(found), expected, `the groups of an empty collection by [${by}]`);
          }
        }
      },
    );
    test(obstacle, 'rejects with unknown_collection for an undeclared collection', async (snapshot) => {
      await failsWith('unknown_collection', () => snapshot.totals!('no_such', { where: [], by: [], limit: 1 }));
    });
    test(obstacle, 'rejects with aborted when the signal is aborted', async (snapshot) => {
      const query = { where: [], by: [], limit: 1 };
      await failsWith('aborted', () => snapshot.totals!('notes', query, AbortSignal.abort()));
    });
    test(
      obstacle,
      'returns the totals of each query when others run at the same time or are aborted',
      async (snapshot) => {
        const aborted = Array.from({ length: 8 }, async (_, i) => {
          const controller = new AbortController();
          const query = { where: [], by: ['town', 'level'], limit: MANY };
          const found = snapshot.totals!('notes', query, controller.signal, () => () => {});
          if (i % 2) await Promise.resolve();
          controller.abort();
          await found.catch(() => {});
        });
        const live = CONDITIONS.slice(0, 8).map((where, i) =>
          sameGroups(snapshot, { where, by: GROUPINGS[i % GROUPINGS.length]! }),
        );
        await Promise.all([...live, ...aborted]);
        await sameGroups(snapshot, { where: [], by: ['town'] });
      },
    );
    test(obstacle, 'resumes the timeout each time it has called onWait()', async (snapshot) => {
      await Promise.all(Array.from({ length: 24 }, (_, i) => resumesEveryWait(snapshot, i)));
      await Promise.all([resumesEveryWait(snapshot, 0), resumesEveryWait(snapshot, 0)]);
    });
    test(obstacle, 'does not change the query that it receives', async (snapshot) => {
      for (const where of CONDITIONS) {
        const query = { where, by: ['town', 'level'], of: 'share', limit: MANY };
        const passed = structuredClone(query);
        await snapshot.totals!('notes', passed);
        sameValue(passed, query, 'the query to be unchanged');
      }
    });
  });
};

const [BY_LEVEL, BY_TOWN] = notes.orders as readonly [readonly string[], readonly string[]];

/** Parts of queries that tests combine with words. */
const PARTS: readonly Partial<Query>[] = [
  {},
  { descending: true },
  { limit: 3 },
  { limit: 0 },
  { equal: { part: 'b' } },
  { equal: { part: 'b' }, after: [150], limit: 5 },
  { after: ['a', 60], limit: 5 },
  { after: ['a', 60.5], descending: true },
  { range: { field: 'id', from: 20, to: 130 } },
  { range: { field: 'id', from: 60 }, limit: 3 },
  { range: { field: 'id', to: 180 }, limit: 3, descending: true },
  { order: BY_LEVEL, limit: 7 },
  { order: BY_LEVEL, descending: true, after: [2, 'b', 0] },
  { order: BY_TOWN, equal: { town: 'Brno' }, range: { field: 'level', from: 0 } },
];

export const describeSearch = (target: AdapterUnderTest): void => {
  const obstacle = without(target, 'search');

  describeNotes(target, 'find(collection, query) with words', obstacle, (test) => {
    test(obstacle, 'yields the documents that contain all words, in order', async (snapshot) => {
      for (const words of WORDS) {
        for (const parts of PARTS) {
          const query = { order: notes.key, ...parts, words };
          sameSequence(notes, await find(snapshot, notes, query), foundBy(query), query);
        }
      }
    });
    test(obstacle, 'finds every word and every prefix, also at the end of a long text', async (snapshot) => {
      for (const words of everyWord()) {
        const query = { order: notes.key, words };
        sameSequence(notes, await find(snapshot, notes, query), foundBy(query), query);
      }
    });
    test(obstacle, 'finds the words of its own collection', async (snapshot) => {
      for (const words of WORDS) {
        for (const [collection, all] of [
          [noteTwins, noteTwinRows],
          [notes, noteRows],
        ] as const) {
          const query = { order: collection.key, words };
          sameSequence(collection, await find(snapshot, collection, query), searchedFor(collection, all, query), query);
        }
      }
    });
    itUnless(obstacle, 'finds any number of documents, for any number of words', async () => {
      const instance = await startInstance(target, datasetOf(FIRST, FIRST_CREATED, { seats: seatRows }), searchedSeats);
      try {
        await withSnapshot(instance, async (snapshot) => {
          for (const parts of SEAT_QUERIES) {
            const query = { order: seats.key, ...parts };
            sameSequence(seats, await find(snapshot, seats, query), searchedFor(seats, seatRows, query), query);
            const totals = { where: [], by: ['row'], words: parts.words, limit: MANY };
            const found = await snapshot.totals?.(seats.name, totals);
            if (found) sameList(inOrder(found), totalsIn(seats, seatRows, totals), `the groups of ${parts.words}`);
          }
        });
      } finally {
        await instance.stop();
      }
    });
    itUnless(obstacle, 'rejects with closed after close(), even if the same words were searched before', async () => {
      const instance = await startNotes(target);
      try {
        const snapshot = instance.adapter.snapshot();
        const search = () => find(snapshot, notes, { words: ['whale'] });
        await search();
        await instance.adapter.close();
        await failsWith('closed', search);
        snapshot.release();
      } finally {
        await instance.stop();
      }
    });
    itUnless(obstacle || cannotChange(target), 'reads the version of its snapshot', async () => {
      const instance = await startNotes(target);
      try {
        await withSnapshot(instance, async (snapshot) => {
          await makeCurrent(target, instance, datasetOf(SECOND, SECOND_CREATED, { notes: noteRows.slice(0, 5) }));
          const query = { order: notes.key, words: ['whale'] };
          sameSequence(notes, await find(snapshot, notes, query), foundBy(query), query);
        });
      } finally {
        await instance.stop();
      }
    });
    test(obstacle || without(target, 'json'), 'yields the same documents with findJson()', async (snapshot) => {
      for (const words of WORDS) {
        for (const parts of PARTS) {
          const query = { order: notes.key, ...parts, words };
          sameSequence(notes, await findJson(snapshot, notes, query), foundBy(query), query);
        }
      }
    });
    test(
      obstacle || without(target, 'totals'),
      'limits totals to the documents that contain all words',
      async (snapshot) => {
        for (const words of WORDS)
          for (const where of CONDITIONS) await sameGroups(snapshot, { where, words, by: ['level'] });
        for (const words of WORDS) await sameGroups(snapshot, { where: [], words, by: [] });
      },
    );
  });
};

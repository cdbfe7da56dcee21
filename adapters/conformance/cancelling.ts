import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Document, type Query, type Snapshot, StorageError, type TotalsQuery } from 'metro-forecast-api/adapter';
import { failsWith, sameItems, sameSequence, sameValue } from './expect.js';
import { find, findJson, parseRow, restOf } from './find-rows.js';
import { crowd, items, rows, rowsWithCrowd } from './fixture.js';
import { type Instance, withSnapshot } from './instance.js';
import { answerOf, inOrder, totalsIn } from './reference.js';

/** Maximum time until a call settles after its signal is aborted, in milliseconds. */
const PROMPT_MS = 150;

/** When to abort a signal: immediately, in the next microtask, or in the next turn of the event loop. */
const MOMENTS = [undefined, () => Promise.resolve(), () => new Promise(setImmediate)];

interface FewRead {
  readonly method: 'get' | 'find' | 'getJson' | 'findJson' | 'totals';
  readonly expected: unknown;
  read(signal?: AbortSignal): Promise<unknown>;
}

/** Returns one small read for each method of the snapshot. The arguments of the reads depend on `i`. */
const fewReads = (snapshot: Snapshot, i: number): readonly FewRead[] => {
  const guest = rowsWithCrowd()['crowd']!.find(({ block, seat }) => block === 30 && seat === 501 + i);
  const key = [30, 501 + i];
  const list = { limit: 1 + i };
  const listed = rows['items']!.slice(0, list.limit);
  const query: TotalsQuery = { where: [{ field: 'rank', operator: 'lte', value: 9 + i }], by: ['grade'], limit: 99 };
  const reads: readonly FewRead[] = [
    { method: 'get', expected: guest, read: (signal) => snapshot.get('crowd', key, signal) },
    { method: 'find', expected: listed, read: (signal) => find(snapshot, items, list, signal) },
    {
      method: 'getJson',
      expected: guest,
      read: async (signal) => parseRow((await snapshot.getJson!('crowd', key, signal)) ?? ''),
    },
    { method: 'findJson', expected: listed, read: (signal) => findJson(snapshot, items, list, signal) },
    {
      method: 'totals',
      expected: totalsIn(items, rows['items']!, query),
      read: async (signal) => {
        const groups = await snapshot.totals!('items', query, signal);
        return groups && inOrder(groups);
      },
    },
  ];
  return reads.filter(({ method }) => snapshot[method] !== undefined);
};

export const describeCancelling = (instance: () => Instance): void => {
  describe('a signal', () => {
    it('that is aborted makes get() reject with aborted', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const reading = snapshot.get('items', ['i01'], AbortSignal.abort());
        await failsWith('aborted', () => reading);
      });
    });

    it('aborted with any reason makes every read reject with aborted', async () => {
      const reasons = [
        new Error('The caller has left.'),
        new StorageError('unavailable', 'Another store is unavailable.'),
        new DOMException('The operation timed out.', 'TimeoutError'),
        'text',
        null,
      ];
      await withSnapshot(instance(), async (snapshot) => {
        for (const reason of reasons) {
          const signal = AbortSignal.abort(reason);
          await failsWith('aborted', () => snapshot.get('items', ['i01'], signal));
          await failsWith('aborted', () => find(snapshot, items, {}, signal));
          await failsWith('aborted', () => instance().adapter.ping(signal));
          if (snapshot.findJson) await failsWith('aborted', () => findJson(snapshot, items, {}, signal));
          const query = { where: [], by: [], limit: 1 };
          if (snapshot.totals) await failsWith('aborted', () => snapshot.totals!('items', query, signal));
          const controller = new AbortController();
          const batches = snapshot.find('crowd', { order: crowd.key }, controller.signal)[Symbol.asyncIterator]();
          const first = await batches.next();
          controller.abort(reason);
          const isWhole = first.done || first.value.length === rowsWithCrowd()['crowd']!.length;
          if (!isWhole) await failsWith('aborted', () => batches.next());
        }
      });
    });

    it('aborted affects no other call that reads the same at the same time', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        for (const [i, wait] of [...MOMENTS, ...MOMENTS].entries()) {
          const controller = new AbortController();
          const some = fewReads(snapshot, i);
          const start = (signal?: AbortSignal) => some.map(({ read }) => read(signal));
          if (i >= MOMENTS.length) controller.abort();
          const aborted = Promise.allSettled(start(controller.signal));
          const others = [...start(), ...start(new AbortController().signal)];
          if (wait) await wait();
          controller.abort();
          await aborted;
          for (const [n, found] of (await Promise.all([...others, ...start()])).entries()) {
            const { method, expected } = some[n % some.length]!;
            const isLeftOut = method === 'totals' && found === undefined;
            if (!isLeftOut) sameValue(found, expected, `the other calls of ${method}() to return their result`);
          }
        }
      });
    });

    it('aborted in 300 reads leaves the adapter able to read, as do 300 reads that are left early', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const some = fewReads(snapshot, 0);
        for (let i = 0; i < 300; i++) {
          const controller = new AbortController();
          const settled = some[i % some.length]!.read(controller.signal).catch(() => {});
          const wait = MOMENTS[Math.floor(i / some.length) % MOMENTS.length];
          if (wait) await wait();
          controller.abort();
          await settled;
          const query = { order: crowd.key, limit: 10_000 };
          const isJson = i % 2 > 0 && snapshot.findJson;
          for await (const _ of isJson ? snapshot.findJson!('crowd', query) : snapshot.find('crowd', query)) break;
        }
        for (const { method, read, expected } of some) {
          const found = await read();
          if (found !== undefined || method !== 'totals')
            sameValue(found, expected, `${method}() to return its result`);
        }
      });
    });

    it('that is aborted makes find() reject with aborted before the first batch', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        await failsWith('aborted', () => find(snapshot, items, {}, AbortSignal.abort()));
      });
    });

    it('aborted between two batches makes find() and findJson() reject with aborted, for any part of a query', async () => {
      const parts: readonly Partial<Query>[] = [
        { descending: true },
        { order: crowd.orders![0]! },
        { equal: { block: -3 } },
        { range: { field: 'seat', from: 100 } },
        { range: { field: 'block', from: 0 }, limit: 40_000 },
        { after: [0, 0] },
      ];
      await withSnapshot(instance(), async (snapshot) => {
        for (const part of parts) {
          const query = { order: crowd.key, ...part };
          const { length } = answerOf(rowsWithCrowd()['crowd']!, query);
          for (const method of ['find', 'findJson'] as const) {
            if (!snapshot[method]) continue;
            const controller = new AbortController();
            const batches = snapshot[method]('crowd', query, controller.signal)[Symbol.asyncIterator]();
            const { done, value } = await batches.next();
            controller.abort();
            const read = done ? length : 'ends' in value ? value.ends.length : value.length;
            if (read < length) await failsWith('aborted', () => batches.next());
          }
        }
      });
    });

    it('aborted after 1 to 20 batches makes find() reject with aborted instead of the next one', async () => {
      const all = rowsWithCrowd()['crowd']!.length;
      await withSnapshot(instance(), async (snapshot) => {
        for (const count of [1, 2, 3, 5, 10, 20]) {
          const controller = new AbortController();
          const batches = snapshot.find('crowd', { order: crowd.key }, controller.signal)[Symbol.asyncIterator]();
          let read = 0;
          for (let i = 0; i < count; i++) read += ((await batches.next()).value ?? []).length;
          controller.abort();
          // If all rows have already been read, there is no further read to reject.
          if (read < all) await failsWith('aborted', () => batches.next());
        }
      });
    });

    it('aborted interrupts its own read and no other, and the snapshot stays readable', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const controller = new AbortController();
        const cancelled = snapshot.find('crowd', { order: crowd.key }, controller.signal)[Symbol.asyncIterator]();
        const other = snapshot.find('crowd', { order: crowd.key, limit: 5000 })[Symbol.asyncIterator]();
        await cancelled.next();
        const found: Document[] = [...((await other.next()).value ?? [])];
        controller.abort();
        await cancelled.next().catch(() => {});
        found.push(...(await restOf(other)));
        sameSequence(crowd, found, rowsWithCrowd()['crowd']!.slice(0, 5000));
        sameItems(await find(snapshot, items), rows['items']!);
      });
    });

    it('that is not aborted changes nothing', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const { signal } = new AbortController();
        assert.equal((await snapshot.get('items', ['i01'], signal))?.['id'], 'i01');
        sameItems(await find(snapshot, items, {}, signal), rows['items']!);
        sameSequence(crowd, await find(snapshot, crowd, {}, signal), rowsWithCrowd()['crowd']!);
        await instance().adapter.ping(signal);
      });
    });

    it('has no listeners left after its reads have finished, and may then be aborted', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const controller = new AbortController();
        const { signal } = controller;
        for (let i = 0; i < 20; i++) {
          await snapshot.get('items', ['i01'], signal);
          await snapshot.get('items', ['zz'], signal);
          await find(snapshot, items, { limit: 2 }, signal);
          for await (const _ of snapshot.find('crowd', { order: crowd.key }, signal)) break;
        }
        const left = getEventListeners(signal, 'abort').length;
        assert(
          left < 20,
          `${left} listeners are left on a signal after 80 reads: remove each listener when its read ends`,
        );
        controller.abort();
        sameItems(await find(snapshot, items), rows['items']!);
      });
    });

    it('aborted during get() lets it return the document or reject with aborted', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const controller = new AbortController();
        const pending = snapshot.get('items', ['i01'], controller.signal);
        controller.abort();
        const [settled] = await Promise.allSettled([pending]);
        if (settled?.status === 'rejected') await failsWith('aborted', () => pending);
        else assert.equal(settled?.value?.['id'], 'i01');
      });
    });

    for (const [what, call] of [
      ['get()', (signal: AbortSignal) => withSnapshot(instance(), (each) => each.get('items', ['i01'], signal))],
      [
        'getJson()',
        (signal: AbortSignal) => withSnapshot(instance(), async (each) => each.getJson?.('items', ['i01'], signal)),
      ],
      ['ping()', (signal: AbortSignal) => instance().adapter.ping(signal)],
    ] as const) {
      it(`aborted during ${what} ends the call immediately`, async () => {
        let fastest = Infinity;
        // On a busy machine, a call can settle late, so only the best of five calls counts.
        for (let i = 0; i < 5 && fastest > PROMPT_MS; i++) {
          const controller = new AbortController();
          const pending = Promise.allSettled([call(controller.signal)]);
          let isSettled = false;
          void pending.then(() => {
            isSettled = true;
          });
          // Some of the calls are aborted while the adapter waits for its backend.
          if (i % 2) await nextTurn();
          const start = performance.now();
          controller.abort();
          for (let turn = 0; turn < 2; turn++) await nextTurn();
          const isPending = !isSettled;
          const [settled] = await pending;
          if (settled.status === 'rejected') await failsWith('aborted', () => Promise.reject(settled.reason));
          else if (isPending) continue;
          fastest = Math.min(fastest, performance.now() - start);
        }
        assert(
          fastest < Infinity,
          `expected ${what} to reject, instead of waiting for its result after the signal was aborted`,
        );
        assert(fastest <= PROMPT_MS, `expected ${what} to settle within ${PROMPT_MS} ms, it took ${fastest} ms`);
      });
    }

    it('that is aborted makes ping() reject with aborted', async () => {
      await failsWith('aborted', () => instance().adapter.ping(AbortSignal.abort()));
    });
  });
};

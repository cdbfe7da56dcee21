/** Proves that a large collection is read whole, in part, and by many at once. */
import assert from 'node:assert/strict';
import type { Document } from '../core/contracts/dataset.js';
import { sameItems, sameList, sameSequence, sameSet } from './expect.js';
import { CROWD_BLOCKS, CROWD_SEATS, crowd, items, readings, rows, rowsWithCrowd } from './fixture.js';
import { find, type Instance, withSnapshot } from './instance.js';

export const describeMany = (instance: () => Instance): void => {
  describe(`a collection of ${(CROWD_BLOCKS * CROWD_SEATS).toLocaleString('en')} documents`, () => {
    it('is found whole, each document once and in order', async () => {
      const found = await withSnapshot(instance(), (snapshot) => find(snapshot, crowd));
      sameSequence(crowd, found, rowsWithCrowd()['crowd']!);
    });

    it('is found in part', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const block = await find(snapshot, crowd, { equal: { block: 44 }, range: { field: 'seat', from: 990 } });
        const seats = [990, 991, 992, 993, 994, 995, 996, 997, 998, 999];
        sameList(
          block.map(({ seat }) => seat),
          seats,
          'the seats from 990 on of block 44',
        );
        assert.equal((await snapshot.get('crowd', [-5, 999]))?.['name'], 'Somebody in seat 999');
      });
    });

    it('is found by another order', async () => {
      const query = { order: crowd.orders![0]!, range: { field: 'score', from: 998 } };
      const last = await withSnapshot(instance(), (snapshot) => find(snapshot, crowd, query));
      const blocks = Array.from({ length: CROWD_BLOCKS }, (_, i) => i - 5);
      sameList(
        last.map(({ score, block }) => [score, block]),
        [...blocks.map((block) => [998, block]), ...blocks.map((block) => [999, block])],
        'the scores from 998 on, by score and block (each document shown as [score, block])',
      );
    });
  });

  describe('reads at the same time', () => {
    it('get their own answers each', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const gets = rows['items']!.map((item) => snapshot.get('items', [item['id'] as string]));
        const finds = ['north', 'south', 'west'].map((station) => find(snapshot, readings, { equal: { station } }));
        sameItems((await Promise.all(gets)) as Document[], rows['items']!);
        sameSet(readings, (await Promise.all(finds)).flat(), rows['readings']!);
      });
    });

    it('do not disturb one another, though taken turn by turn or left early', async () => {
      await withSnapshot(instance(), async (snapshot) => {
        const left = snapshot.find('crowd', { order: crowd.key })[Symbol.asyncIterator]();
        await left.next();
        const one = snapshot.find('readings', { order: readings.key })[Symbol.asyncIterator]();
        const other = snapshot.find('items', { order: items.key })[Symbol.asyncIterator]();
        const read = { one: [] as Document[], other: [] as Document[] };
        for (let going = true; going; ) {
          const [a, b] = [await one.next(), await other.next()];
          if (!a.done) read.one.push(...a.value);
          if (!b.done) read.other.push(...b.value);
          going = !a.done || !b.done;
        }
        await left.return?.();
        sameSet(readings, read.one, rows['readings']!);
        sameSet(items, read.other, rows['items']!);
      });
    });
  });
};

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { collectGarbage } from '../../adapters/conformance/collect-garbage.js';
import { ThreadedConnection } from '../../adapters/sqlite/connection.js';
import { LongReads } from '../../adapters/sqlite/long-reads.js';
import type { SnapshotReader } from '../../core/contracts/plugin.js';
import type { Snapshot } from '../../core/contracts/storage.js';
import { sharedReader } from '../../core/data/checked-snapshot.js';
import { indexedSnapshot } from '../../core/data/indexed-snapshot.js';
import { ApiError } from '../../core/errors.js';
import { markets } from '../../plugins/metro/collections.js';
import { manifest } from '../support/fixture.js';

const COUNTED = 1_500_000;
const slow = (numbers: number) =>
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${numbers}) SELECT count(*) FROM n`;

describe('SQLite: long reads', () => {
  let folder: string;
  let path: string;
  let reads: LongReads;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sqlite-totals-'));
    path = join(folder, 'data.db');
    await ThreadedConnection.use(path, (connection) => connection.exec('PRAGMA user_version = 1'), { create: true });
    reads = new LongReads(path, () => undefined);
    await reads.rows(slow(1), [], undefined);
  });
  afterEach(async () => {
    await reads.close();
    await rm(folder, { recursive: true });
  });

  const empty = indexedSnapshot({ manifest, publishedAt: new Date(), collections: new Map() }, () => undefined);
  const snapshot = (numbers: number): Snapshot => ({
    ...empty,
    getJson: async (_name, _key, signal) => void signal?.throwIfAborted(),
    totals: async (_name, _query, signal, onWait) => {
      const [[count]] = (await reads.rows(slow(numbers), [], signal, onWait)) as [[number]];
      return [{ values: [], count }];
    },
  });
  const ask = async (reader: SnapshotReader) => {
    const [group] = (await reader.totals(markets, { where: [], by: [], limit: 1 }))!;
    // Waiting for other totals restarts the time limit, so the original limit must not abort this read.
    await reader.get(markets, ['12060']);
    return group!.count;
  };
  const readers = (numbers: number, ms: number) =>
    sharedReader(snapshot(numbers), new Map([[markets.name, markets]]), ms);

  it('exclude the time spent waiting for other totals from the time limit', async () => {
    const since = performance.now();
    await reads.rows(slow(COUNTED), [], undefined);
    const limit = Math.ceil(3 * (performance.now() - since));
    const next = readers(COUNTED, limit);
    const counts = await Promise.all(Array.from({ length: 8 }, () => next()(ask)));
    expect(counts).to.deep.equal(Array(8).fill(COUNTED));
    expect(performance.now() - since).to.be.above(limit);
  });

  const codeOf = (reading: Promise<unknown>) =>
    reading.then(
      () => expect.fail('The query did not fail.'),
      ({ code }) => code as string,
    );

  it('reject with closed when the adapter closes, and queued queries do not start', async () => {
    const codes = Promise.all([1, 2, 3].map(() => codeOf(reads.rows(slow(1e12), [], undefined))));
    await setImmediate();
    await reads.close();
    expect(await codes).to.deep.equal(['closed', 'closed', 'closed']);
  });

  it('are interrupted by a signal that is aborted at any time', async () => {
    for (let turns = 0; turns < 12; turns++) {
      await reads.close();
      reads = new LongReads(path, () => undefined);
      const aborting = new AbortController();
      const code = codeOf(reads.rows(slow(1e12), [], aborting.signal));
      for (let turn = 0; turn < turns; turn++) await (turns % 2 === 0 ? setImmediate() : undefined);
      aborting.abort();
      expect(await code).to.equal('aborted');
    }
  });

  it('are aborted one by one at the time limit, and the message advises narrowing the question', async () => {
    const next = readers(1e12, 300);
    const results = (await Promise.allSettled([next()(ask), next()(ask)])) as PromiseRejectedResult[];
    for (const { reason } of results) {
      expect(reason).to.be.instanceOf(ApiError);
      const sentence = 'The totals take longer than 0.3 seconds. Use filters to narrow the query.';
      expect([reason.status, reason.message]).to.deep.equal([503, sentence]);
    }
  });

  /** Returns the longest time that the event loop was blocked, as a fraction of the query time. */
  const blockedShareOnce = async (query: () => Promise<unknown>): Promise<number> => {
    const since = performance.now();
    let last = since;
    let longest = 0;
    const tick = () => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    };
    const timer = setInterval(tick, 2);
    setTimeout(collectGarbage, 50);
    await query();
    tick();
    clearInterval(timer);
    return longest / (performance.now() - since);
  };
  /** Repeats the measurement if the share is large, because a busy machine can also block the event loop. */
  const blockedShare = async (query: () => Promise<unknown>, tries = 3): Promise<number> => {
    const share = await blockedShareOnce(query);
    return share < 0.5 || tries === 1 ? share : blockedShare(query, tries - 1);
  };

  for (const earlier of [5, 99, 100, 105])
    it(`do not block garbage collection after ${earlier} queries`, async () => {
      // The hook has already run one query.
      for (let i = 1; i < earlier; i++) await reads.rows(`SELECT ${i}`, [], undefined);
      expect(await blockedShare(() => reads.rows(slow(4 * COUNTED), [], undefined))).to.be.below(0.5);
    });

  it('and writes do not block garbage collection', () =>
    ThreadedConnection.use(path, async (connection) => {
      for (let i = 0; i < 5; i++) await connection.rows('SELECT ?', i);
      await connection.run('PRAGMA user_version = 2');
      const write = () => connection.exec(`DROP TABLE IF EXISTS counted; CREATE TABLE counted AS ${slow(4 * COUNTED)}`);
      expect(await blockedShare(write)).to.be.below(0.5);
    }));
});

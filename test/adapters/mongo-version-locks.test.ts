import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { failsWith } from '../../adapters/conformance/expect.js';
import type { Connection } from '../../adapters/mongo/connection.js';
import { lockedIds, VersionLocks } from '../../adapters/mongo/version-locks.js';
import { StorageError } from '../../core/errors.js';
import { openDatabase, type TestDatabase } from './mongo-database.js';

const HOLD_MS = 60_000;

describe('holds in MongoDB', () => {
  let database: TestDatabase;
  let now: number;
  let lapses: number;
  const clock = { now: Date.now, monotonic: () => now };
  const lapsed = async () => {
    lapses++;
  };
  beforeEach(async () => {
    database = await openDatabase();
    now = 500;
    lapses = 0;
  });
  afterEach(() => database.end());

  const holdsFor = (ms = HOLD_MS) => new VersionLocks(database.connection, clock, ms);
  const documents = () => database.connection.db.collection<{ holds: number[]; expires: Date }>('replicas');
  const writes = async (work: () => Promise<void>): Promise<boolean> => {
    await documents().updateMany({}, { $set: { holds: [-1] } });
    await work();
    return (await documents().countDocuments({ holds: -1 })) === 0;
  };

  it('are visible to all replicas until they expire by the clock of the server', async () => {
    const [one, other] = [holdsFor(), holdsFor(1)];
    await one.keep([1, 2], lapsed);
    await other.keep([3], lapsed);
    await delay(20);
    expect(await lockedIds(database.connection)).to.deep.equal(new Set([1, 2]));
    expect(await documents().countDocuments()).to.equal(2);
    const { expires } = (await documents().findOne({ holds: [1, 2] }))!;
    expect(+expires - Date.now()).to.be.within(HOLD_MS - 5000, HOLD_MS + 5000);
  });

  it('are written again when they change and after a quarter of their lifetime', async () => {
    const holds = holdsFor();
    await holds.keep([1], lapsed);
    expect(await writes(() => holds.keep([1], lapsed))).to.equal(false);
    expect(await writes(() => holds.keep([1, 2], lapsed))).to.equal(true);
    expect(await writes(() => holds.keep([2, 1], lapsed))).to.equal(false);
    expect(await writes(() => holds.keep([1, 3], lapsed))).to.equal(true);
    expect(await writes(() => holds.keep([1], lapsed))).to.equal(true);
    now += HOLD_MS / 4;
    expect(await writes(() => holds.keep([1], lapsed))).to.equal(false);
    now += 1;
    expect(await writes(() => holds.keep([1], lapsed))).to.equal(true);
    expect(await writes(() => holds.keep([1], lapsed))).to.equal(false);
  });

  it('are in effect for their lifetime, counted from when they were sent', async () => {
    const holds = holdsFor();
    expect(holds.areValid).to.equal(false);
    const keeping = holds.keep([1], lapsed);
    now += 10;
    await keeping;
    expect(holds.areValid).to.equal(true);
    now += HOLD_MS - 11;
    expect(holds.areValid).to.equal(true);
    now += 1;
    expect(holds.areValid).to.equal(false);
  });

  describe('after a write that failed on the replica', () => {
    let late: (() => Promise<unknown>)[];
    let fails: boolean;
    let holds: VersionLocks;
    beforeEach(() => {
      late = [];
      fails = false;
      const { connection } = database;
      const run: Connection['run'] = (what, work) => {
        if (!fails) return connection.run(what, work);
        late.push(() => connection.run(what, work));
        return Promise.reject(new StorageError('unavailable', 'MongoDB did not respond.'));
      };
      holds = new VersionLocks({ run } as Connection, clock, HOLD_MS);
    });
    const failing = async (ids: readonly number[]): Promise<void> => {
      fails = true;
      await failsWith('unavailable', () => holds.keep(ids, lapsed));
      fails = false;
    };

    it('are not replaced when that write arrives late', async () => {
      await holds.keep([1], lapsed);
      await failing([1, 2]);
      await holds.keep([1, 3], lapsed);
      await late[0]!();
      expect(await lockedIds(database.connection)).to.deep.equal(new Set([1, 3]));
    });

    it('are written again, even if they equal the last successful write', async () => {
      await holds.keep([1, 2], lapsed);
      await failing([1]);
      await late[0]!();
      await holds.keep([1, 2], lapsed);
      expect(await lockedIds(database.connection)).to.deep.equal(new Set([1, 2]));
    });
  });

  it('report a lapse after they have expired, before they are in effect again', async () => {
    const holds = holdsFor();
    await holds.keep([1], lapsed);
    const first = lapses;
    now += HOLD_MS - 1;
    await holds.keep([1], lapsed);
    expect(lapses).to.equal(first);
    now += HOLD_MS;
    let areValid: boolean | undefined;
    await holds.keep([1], async () => {
      areValid = holds.areValid;
    });
    expect(areValid).to.equal(false);
    expect(holds.areValid).to.equal(true);
  });

  it('report a lapse that happened during the write', async () => {
    const holds = holdsFor();
    await holds.keep([1], lapsed);
    const first = lapses;
    now += HOLD_MS - 1;
    const keeping = holds.keep([1], lapsed);
    now += 1;
    await keeping;
    expect(lapses).to.equal(first + 1);
  });

  it('are deleted by end(), which can be called twice', async () => {
    const [holds, other] = [holdsFor(), holdsFor()];
    await holds.end();
    await holds.keep([1], lapsed);
    await other.keep([2], lapsed);
    await holds.end();
    expect(holds.areValid).to.equal(false);
    expect(await lockedIds(database.connection)).to.deep.equal(new Set([2]));
    await holds.end();
    expect(await documents().countDocuments()).to.equal(1);
  });

  it('end() resolves while MongoDB is unreachable', async () => {
    const stopped = await openDatabase();
    const holds = new VersionLocks(stopped.connection, clock, HOLD_MS);
    await holds.keep([1], lapsed);
    await stopped.end();
    await holds.end();
    expect(holds.areValid).to.equal(false);
  });
});

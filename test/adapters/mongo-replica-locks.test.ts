import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { failsWith } from '../../adapters/conformance/expect.js';
import type { Connection } from '../../adapters/mongo/connection.js';
import { lockedIds, ReplicaLocks } from '../../adapters/mongo/replica-locks.js';
import { StorageError } from '../../core/errors.js';
import { openDatabase, type TestDatabase } from './mongo-database.js';

const HOLD_MS = 60_000;

describe('locks of a replica in MongoDB', () => {
  let database: TestDatabase;
  let now: number;
  let expiries: number;
  const clock = { now: Date.now, monotonic: () => now };
  const onExpired = async () => {
    expiries++;
  };
  beforeEach(async () => {
    database = await openDatabase();
    now = 500;
    expiries = 0;
  });
  afterEach(() => database.end());

  const locksFor = (ms = HOLD_MS) => new ReplicaLocks(database.connection, clock, ms);
  const documents = () => database.connection.db.collection<{ holds: number[]; expires: Date }>('replicas');
  const writes = async (work: () => Promise<void>): Promise<boolean> => {
    await documents().updateMany({}, { $set: { holds: [-1] } });
    await work();
    return (await documents().countDocuments({ holds: -1 })) === 0;
  };

  it('are visible to all replicas until they expire by the clock of the server', async () => {
    const [one, other] = [locksFor(), locksFor(1)];
    await one.renew([1, 2], onExpired);
    await other.renew([3], onExpired);
    await delay(20);
    expect(await lockedIds(database.connection)).to.deep.equal(new Set([1, 2]));
    expect(await documents().countDocuments()).to.equal(2);
    const { expires } = (await documents().findOne({ holds: [1, 2] }))!;
    expect(+expires - Date.now()).to.be.within(HOLD_MS - 5000, HOLD_MS + 5000);
  });

  it('are written again when they change and after a quarter of their lifetime', async () => {
    const locks = locksFor();
    await locks.renew([1], onExpired);
    expect(await writes(() => locks.renew([1], onExpired))).to.equal(false);
    expect(await writes(() => locks.renew([1, 2], onExpired))).to.equal(true);
    expect(await writes(() => locks.renew([2, 1], onExpired))).to.equal(false);
    expect(await writes(() => locks.renew([1, 3], onExpired))).to.equal(true);
    expect(await writes(() => locks.renew([1], onExpired))).to.equal(true);
    now += HOLD_MS / 4;
    expect(await writes(() => locks.renew([1], onExpired))).to.equal(false);
    now += 1;
    expect(await writes(() => locks.renew([1], onExpired))).to.equal(true);
    expect(await writes(() => locks.renew([1], onExpired))).to.equal(false);
  });

  it('are valid for their lifetime, counted from when they were sent', async () => {
    const locks = locksFor();
    expect(locks.areValid).to.equal(false);
    const renewing = locks.renew([1], onExpired);
    now += 10;
    await renewing;
    expect(locks.areValid).to.equal(true);
    now += HOLD_MS - 11;
    expect(locks.areValid).to.equal(true);
    now += 1;
    expect(locks.areValid).to.equal(false);
  });

  describe('after a write that failed on the replica', () => {
    let late: (() => Promise<unknown>)[];
    let fails: boolean;
    let locks: ReplicaLocks;
    beforeEach(() => {
      late = [];
      fails = false;
      const { connection } = database;
      const run: Connection['run'] = (what, work) => {
        if (!fails) return connection.run(what, work);
        late.push(() => connection.run(what, work));
        return Promise.reject(new StorageError('unavailable', 'MongoDB did not respond.'));
      };
      locks = new ReplicaLocks({ run } as Connection, clock, HOLD_MS);
    });
    const failing = async (ids: readonly number[]): Promise<void> => {
      fails = true;
      await failsWith('unavailable', () => locks.renew(ids, onExpired));
      fails = false;
    };

    it('are not replaced when that write arrives late', async () => {
      await locks.renew([1], onExpired);
      await failing([1, 2]);
      await locks.renew([1, 3], onExpired);
      await late[0]!();
      expect(await lockedIds(database.connection)).to.deep.equal(new Set([1, 3]));
    });

    it('are written again, even if they equal the last successful write', async () => {
      await locks.renew([1, 2], onExpired);
      await failing([1]);
      await late[0]!();
      await locks.renew([1, 2], onExpired);
      expect(await lockedIds(database.connection)).to.deep.equal(new Set([1, 2]));
    });
  });

  it('report that they had expired before they are valid again', async () => {
    const locks = locksFor();
    await locks.renew([1], onExpired);
    const first = expiries;
    now += HOLD_MS - 1;
    await locks.renew([1], onExpired);
    expect(expiries).to.equal(first);
    now += HOLD_MS;
    let areValid: boolean | undefined;
    await locks.renew([1], async () => {
      areValid = locks.areValid;
    });
    expect(areValid).to.equal(false);
    expect(locks.areValid).to.equal(true);
  });

  it('report that they expired during the write', async () => {
    const locks = locksFor();
    await locks.renew([1], onExpired);
    const first = expiries;
    now += HOLD_MS - 1;
    const renewing = locks.renew([1], onExpired);
    now += 1;
    await renewing;
    expect(expiries).to.equal(first + 1);
  });

  it('are deleted by release(), which can be called twice', async () => {
    const [locks, other] = [locksFor(), locksFor()];
    await locks.release();
    await locks.renew([1], onExpired);
    await other.renew([2], onExpired);
    await locks.release();
    expect(locks.areValid).to.equal(false);
    expect(await lockedIds(database.connection)).to.deep.equal(new Set([2]));
    await locks.release();
    expect(await documents().countDocuments()).to.equal(1);
  });

  it('release() resolves while MongoDB is unreachable', async () => {
    const stopped = await openDatabase();
    const locks = new ReplicaLocks(stopped.connection, clock, HOLD_MS);
    await locks.renew([1], onExpired);
    await stopped.end();
    await locks.release();
    expect(locks.areValid).to.equal(false);
  });
});

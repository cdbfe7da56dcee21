import { expect } from 'chai';
import { ObjectId } from 'mongodb';
import { MongoAudit } from '../../adapters/mongo/audit.js';
import { madeOnly } from '../../core/audit/chain.js';
import type { AuditEntry } from '../../core/contracts/audit.js';
import { openDatabase, type TestDatabase } from './mongo-database.js';

interface Entry extends AuditEntry {
  readonly what: string;
}

const entry = (what: string): Entry => ({ time: '2026-05-01T00:00:00.000Z', by: 'tester', what });

describe('the audit log in MongoDB', () => {
  let database: TestDatabase;
  let audit: MongoAudit<Entry>;
  let count = 0;
  let name: string;
  before(async () => {
    database = await openDatabase();
  });
  after(() => database.end());
  beforeEach(() => {
    name = `audit_${count++}`;
    audit = new MongoAudit(database.connection, name);
  });

  const documents = () => database.connection.db.collection<{ _id: number | string | ObjectId }>(name);
  const add = (what: string, made = true) => audit.around(entry(what), async () => made);
  const recorded = async () => madeOnly(await audit.list()).map(({ what }) => what);
  const chainErrors = async () => (await audit.verify()).faults;

  it('chains all entries of concurrent writers, and can be verified without errors meanwhile', async () => {
    const writers = ['a', 'b', 'c', 'd', 'e', 'f'];
    const names = writers.flatMap((writer) => [1, 2, 3, 4].map((n) => `${writer}${n}`));
    let isOver = false;
    const writing = Promise.all(
      writers.map(async (writer) => {
        const own = new MongoAudit<Entry>(database.connection, name);
        for (const each of names) if (each.startsWith(writer)) await own.around(entry(each), async () => true);
      }),
    ).finally(() => {
      isOver = true;
    });
    while (!isOver) expect(await chainErrors()).to.deep.equal([]);
    await writing;
    expect([...(await recorded())].sort()).to.deep.equal(names.sort());
    expect(await audit.verify()).to.deep.include({ chained: 24, faults: [] });
  });

  it('marks a change that was not made, and keeps a change with an unknown outcome', async () => {
    await add('one');
    expect(await add('two', false)).to.equal(false);
    const outage = new Error('outage');
    await audit
      .around(entry('three'), () => Promise.reject(outage))
      .then(
        () => expect.fail('The promise did not reject.'),
        (error) => expect(error).to.equal(outage),
      );
    expect(await recorded()).to.deep.equal(['one', 'three']);
    expect(await audit.verify()).to.deep.include({ chained: 4, faults: [] });
  });

  it('keeps the entry of a writer that stopped after updating the head and before inserting it', async () => {
    await add('one');
    await add('two');
    await documents().deleteOne({ _id: 2 });
    expect(await recorded()).to.deep.equal(['one', 'two']);
    expect(await chainErrors()).to.deep.equal([]);
    await add('three');
    expect(await documents().countDocuments()).to.equal(4);
    expect(await chainErrors()).to.deep.equal([]);
  });

  it('finds each removed or changed entry, and a changed head', async () => {
    for (const each of ['one', 'two', 'three']) await add(each);
    const all = await documents().find().toArray();
    const restore = async () => {
      await documents().deleteMany({});
      await documents().insertMany(all);
      expect(await chainErrors()).to.deep.equal([]);
    };
    for (const _id of [1, 2]) {
      await documents().deleteOne({ _id });
      expect(await chainErrors(), `without ${_id}`).to.not.deep.equal([]);
      await restore();
    }
    for (const _id of [1, 2, 3]) {
      await documents().updateOne({ _id }, { $set: { by: 'changed' } });
      expect(await chainErrors()).to.deep.equal([`entry ${_id} was changed after it was written`]);
      await restore();
    }
    await documents().deleteOne({ _id: 'head' });
    expect((await chainErrors())[0]).to.match(/^the hash of the newest entry is missing/);
    await add('four');
    expect(await chainErrors()).to.deep.equal([]);
    await documents().deleteMany({ _id: { $gte: 3 } });
    expect(await chainErrors()).to.not.deep.equal([]);
  });

  it('finds an entry that was inserted by hand', async () => {
    await add('a');
    await documents().insertOne({ _id: new ObjectId(), ...entry('b') });
    expect((await chainErrors())[0]).to.match(/^entry [0-9a-f]{24} has no hash: it was inserted by hand$/);
  });
});

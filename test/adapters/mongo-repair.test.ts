import assert from 'node:assert/strict';
import type { Db } from 'mongodb';
import { failsWith } from '../../adapters/conformance/expect.js';
import {
  anotherDataset,
  datasetOf,
  FIRST,
  FIRST_CREATED,
  itemsOf,
  rows,
  SECOND,
} from '../../adapters/conformance/fixture.js';
import { mongoForTests, uniqueName } from '../support/services.js';
import { type Replica, Replicas } from './mongo-replica.js';

interface Numbered {
  _id: number;
}

describe('publishing to a damaged MongoDB', () => {
  let replicas: Replicas;
  let replica: Replica;

  beforeEach(async () => {
    replicas = new Replicas((await mongoForTests()).url, uniqueName('repair'));
    replica = await replicas.open();
    await replica.adapter.publish(datasetOf());
  });
  afterEach(() => replicas.end());

  const newestId = async () => (await replicas.storedIds()).at(-1)!;
  const verified = () => replica.adapter.audit!.verify();
  const publishing = async (dataset = datasetOf()): Promise<readonly string[]> => {
    const repaired: string[] = [];
    await replica.adapter.publish(dataset, { onRepair: (reason) => repaired.push(reason) });
    return repaired;
  };

  const damages: readonly (readonly [string, (db: Db, id: number) => Promise<unknown>, RegExp])[] = [
    [
      'a row is missing',
      (db, id) => db.collection<Numbered>(`data.${id}.items`).deleteOne({ _id: 3 }),
      /the collection "data\.\d+\.items" has 23 rows where 24 were published/,
    ],
    [
      'a row was changed',
      (db, id) => db.collection<Numbered>(`data.${id}.items`).updateOne({ _id: 3 }, { $set: { 'd.label': 'other' } }),
      /the collection "data\.\d+\.items" has other rows where 24 were published/,
    ],
    [
      'a row has lost its text',
      (db, id) => db.collection<Numbered>(`data.${id}.items`).updateOne({ _id: 3 }, { $unset: { j: 1 } }),
      /the collection "data\.\d+\.items" has other rows where 24 were published/,
    ],
    [
      'it was published by another version of this program',
      (db, id) => db.collection<Numbered>('versions').updateOne({ _id: id }, { $unset: { layout: 1 } }),
      /it was published by another version of this program/,
    ],
    [
      'a collection is missing',
      (db, id) => db.dropCollection(`data.${id}.items`),
      /the collection "data\.\d+\.items" has 0 rows where 24 were published/,
    ],
    [
      'the document of the version is missing',
      (db, id) => db.collection<Numbered>('versions').deleteOne({ _id: id }),
      /the document \d+ of "versions" is missing/,
    ],
  ];
  for (const [what, damage, message] of damages) {
    it(`writes the same version again if ${what}, logs that, and serves the version with its history`, async () => {
      const since = replica.adapter.snapshot().publishedAt;
      const id = await newestId();
      await replicas.raw((db) => damage(db, id));
      const { notes, faults } = await verified();
      assert.deepEqual(faults, []);
      assert.equal(notes.length, 1);
      assert.match(notes[0]!, new RegExp(`^version "${FIRST}": ${message.source}`));

      const other = datasetOf(FIRST, FIRST_CREATED, { ...rows, items: itemsOf(SECOND) });
      await failsWith('conflict', () => publishing(other));
      const repaired = await publishing();
      assert.equal(repaired.length, 1);
      assert.match(repaired[0]!, message);
      assert.deepEqual(await replica.items(), rows['items']);
      assert.equal((await replica.adapter.versions.list()).length, 1);
      assert.deepEqual(await verified().then((found) => [found.notes, found.faults]), [[], []]);
      const then = await replica.adapter.versions.asOf(since);
      assert.equal(then?.version, FIRST);
      then.release();
      await failsWith('conflict', () => publishing());
    });
  }

  it('recovers from a damaged pointer and damaged lists', async () => {
    await replicas.raw((db) =>
      db.collection<{ _id: string }>('catalog').updateOne({ _id: 'catalog' }, { $set: { current: 'x', moves: 1 } }),
    );
    await publishing(anotherDataset());
    assert.equal(replica.version(), SECOND);
    await replicas.raw((db) =>
      db.collection<{ _id: string }>('catalog').updateOne({ _id: 'catalog' }, { $unset: { current: 1, versions: 1 } }),
    );
    await publishing(datasetOf());
    assert.equal(replica.version(), FIRST);
    assert.deepEqual(await replica.items(), rows['items']);
  });

  it('completes a version that was published for a configuration with fewer collections', async () => {
    const id = await newestId();
    await replicas.raw((db) =>
      db.collection<Numbered>('versions').updateOne({ _id: id }, { $unset: { 'collections.items': 1 } }),
    );
    const [repaired] = await publishing();
    assert.match(repaired!, /it was published without the collection "items"/);
    assert.deepEqual(await (await replicas.open()).items(), rows['items']);
  });

  it('stores a digest of the rows with each audit entry, equal only for equal rows', async () => {
    await publishing(datasetOf(SECOND, '2024-02-01T00:00:00.000Z'));
    await publishing(anotherDataset('third-3', '2024-03-01T00:00:00.000Z'));
    const [first, second, third] = (await replica.adapter.audit!.list()).map(({ content }) => content);
    assert.match(first!, /^[0-9a-f]{64}$/);
    assert.equal(second, first);
    assert.notEqual(third, first);
  });

  it('records that checksums of a version were changed together with its rows', async () => {
    const id = await newestId();
    await replicas.raw((db) =>
      db
        .collection<Numbered>('versions')
        .updateOne({ _id: id }, { $set: { 'collections.nothing.sha256': '0'.repeat(64) } }),
    );
    const { notes } = await verified();
    assert.match(notes.join('\n'), /the document \d+ of "versions" does not match the published rows/);
  });
});

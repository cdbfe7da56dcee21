import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually, failsWith } from '../../adapters/conformance/expect.js';
import { anotherDataset, datasetOf, FIRST, itemsOf, rows, SECOND } from '../../adapters/conformance/fixture.js';
import type { Document } from '../../core/contracts/dataset.js';
import type { Dataset } from '../../core/contracts/storage.js';
import { mongoForTests, uniqueName } from '../support/services.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { gate, Replicas, SHORT_LOCK } from './mongo-replica.js';

const THIRD = 'third-3';
const THIRD_CREATED = '2024-03-01T00:00:00.000Z';

const pausing = (dataset: Dataset, collection: string, pause: () => Promise<void>): Dataset => ({
  ...dataset,
  async *read(name) {
    if (name === collection) await pause();
    yield* dataset.read(name);
  },
});

const withShape = (row: Document): Dataset =>
  datasetOf(SECOND, '2024-02-01T00:00:00.000Z', { ...rows, nothing: [row] });

describe('publishing to MongoDB', () => {
  let replicas: Replicas;

  beforeEach(async () => {
    replicas = new Replicas((await mongoForTests()).url, uniqueName('publish'));
  });
  afterEach(() => replicas.end());

  it('rejects the second of two concurrent publishers with conflict, for any version', async () => {
    const [first, second] = [await replicas.open(), await replicas.open()];
    const [begun, go] = [gate(), gate()];
    const winning = first.adapter.publish(
      pausing(anotherDataset(), 'readings', () => {
        begun.open();
        return go.passed;
      }),
    );
    await begun.passed;
    const { message } = await failsWith('conflict', () => second.adapter.publish(anotherDataset(THIRD, THIRD_CREATED)));
    assert.equal(message, 'Another publication is running. Try again when it has finished.');
    go.open();
    await winning;
    await eventually('the other replica follows', () => second.version() === SECOND, 5000);
    assert.deepEqual(await second.items(), itemsOf(SECOND));
  });

  it('takes over from a hanging publisher, which rejects and changes nothing when it resumes', async () => {
    const { port } = new URL(replicas.uri);
    const proxy = await startTcpProxy(Number(port));
    const hanging = new Replicas(`mongodb://127.0.0.1:${proxy.port}/?directConnection=true`, replicas.database);
    try {
      const [begun, go] = [gate(), gate()];
      const stuck = (await hanging.open({ ...SHORT_LOCK, writeMs: 1000 })).adapter.publish(
        pausing(anotherDataset(), 'readings', () => {
          begun.open();
          return go.passed;
        }),
      );
      stuck.catch(() => undefined);
      await begun.passed;
      proxy.cutReplies();
      const other = await replicas.open();
      // The server receives the renewals of the lock, but its replies are lost, so operations of the driver time out.
      const published = async () => {
        for (;;) {
          try {
            return await other.adapter.publish(anotherDataset(THIRD, THIRD_CREATED));
          } catch (error) {
            assert.equal((error as { code?: string }).code, 'conflict');
            await delay(100);
          }
        }
      };
      await published();
      proxy.mend();
      go.open();
      await failsWith(['conflict', 'unavailable'], () => stuck);
      assert.equal(other.version(), THIRD);
      assert.deepEqual(await other.items(), itemsOf(THIRD));
      assert.deepEqual(
        (await other.adapter.versions.list()).map(({ version }) => version),
        [THIRD],
      );
    } finally {
      await hanging.end();
      await proxy.close();
    }
  });

  it('rejects with conflict if another version was activated during the publication', async () => {
    const { adapter } = await replicas.open();
    await adapter.publish(datasetOf());
    await adapter.publish(anotherDataset());
    const activated = pausing(anotherDataset(THIRD, THIRD_CREATED), 'readings', () => adapter.versions.activate(FIRST));
    const { message } = await failsWith('conflict', () => adapter.publish(activated));
    assert.equal(
      message,
      `Version ${THIRD} was not published: another publisher took over, or another version was activated meanwhile.`,
    );
    assert.equal(adapter.snapshot().version, FIRST);
  });

  it('rejects with conflict, before it reads a row, if the version has already been published', async () => {
    const { adapter } = await replicas.open();
    await adapter.publish(datasetOf());
    let read = 0;
    const again = pausing(datasetOf(), 'readings', async () => {
      read++;
    });
    const { message } = await failsWith('conflict', () => adapter.publish(again));
    const since = adapter.snapshot().publishedAt.toISOString();
    assert.equal(message, `Version ${FIRST} was already published on ${since}: different content needs a new version.`);
    assert.equal(read, 0);
  });

  it('counts the written rows, and does not activate a version with lost rows', async () => {
    const replica = await replicas.open();
    await replica.adapter.publish(datasetOf());
    const spoiled = pausing(anotherDataset(), 'crowd', () =>
      replicas.raw(async (db) => {
        const [id] = (await replicas.storedIds()).slice(-1);
        const written = db.collection<{ _id: number }>(`data.${id}.items`);
        for (let tries = 0; (await written.countDocuments()) < rows['items']!.length; tries++) {
          assert(tries < 500, 'the items are written');
          await delay(10);
        }
        await written.deleteOne({ _id: 5 });
      }),
    );
    const { message } = await failsWith('unavailable', () => replica.adapter.publish(spoiled));
    assert.match(message, /24 rows were written and 23 are stored/);
    assert.deepEqual(await replica.items(), rows['items']);
  });

  it('rejects with invalid_dataset for rows out of key order and for duplicate keys', async () => {
    const { adapter } = await replicas.open();
    const reversed = datasetOf(SECOND, undefined, { ...rows, items: rows['items']!.toReversed() });
    assert.match(
      (await failsWith('invalid_dataset', () => adapter.publish(reversed))).message,
      /\["i23"\] is not in key order/,
    );
    const twice = datasetOf(SECOND, undefined, { ...rows, items: [rows['items']![0]!, ...rows['items']!] });
    assert.match(
      (await failsWith('invalid_dataset', () => adapter.publish(twice))).message,
      /two rows have the key \["i01"\]/,
    );
  });

  for (const [what, row, message] of [
    ['a lone surrogate in a value', { id: 'x', list: ['\ud800'] }, /row\.list\[0\] contains half a surrogate pair/],
    ['a lone surrogate in a name', { id: 'x', '\udc00': 1 }, /half a surrogate pair/],
    ['NaN', { id: 'x', list: [1, Number.NaN] }, /the row with the key \["x"\] has no finite number in "list\.1"/],
    ['a BigInt', { id: 'x', list: [1n] }, /a row cannot be converted to JSON: .*BigInt/],
    ['U+0000 in a name', { id: 'x', inner: { 'a\0b': 1 } }, /contains the character U\+0000/],
    ['the name "_bsontype"', { id: 'x', inner: { _bsontype: 'ObjectId' } }, /row\.inner\._bsontype/],
    [
      'a database reference',
      { id: 'x', inner: { $ref: 'a', $id: 1 } },
      /row\.inner would be read back as a database reference/,
    ],
  ] as const) {
    it(`rejects with invalid_dataset, naming the row, for ${what}`, async () => {
      const { adapter } = await replicas.open();
      assert.match((await failsWith('invalid_dataset', () => adapter.publish(withShape(row)))).message, message);
      assert.deepEqual(await replicas.storedIds(), []);
    });
  }

  it('rejects with invalid_dataset for a row that is too large or nested too deeply', async () => {
    const { adapter } = await replicas.open();
    const deep = JSON.parse(`${'['.repeat(250)}${']'.repeat(250)}`);
    for (const row of [
      { id: 'x', text: 'x'.repeat(17_000_000) },
      { id: 'x', deep },
    ]) {
      const { message } = await failsWith('invalid_dataset', () => adapter.publish(withShape(row)));
      assert.match(message, /Collection "nothing": MongoDB cannot store a row: /);
    }
  });

  it('accepts text that resembles an unstorable value', async () => {
    const { adapter } = await replicas.open();
    const row = { id: 'x', text: '\\ud800 \u0000 "_bsontype"', $ref: 'a' };
    await adapter.publish(withShape(row));
    const found = await adapter.snapshot().get('nothing', ['x']);
    assert.deepEqual(found, row);
  });
});

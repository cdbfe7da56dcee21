import assert from 'node:assert/strict';
import { eventually, failsWith } from '../../adapters/conformance/expect.js';
import { find } from '../../adapters/conformance/find-rows.js';
import {
  anotherDataset,
  collections,
  datasetOf,
  FIRST,
  items,
  itemsOf,
  rows,
  SECOND,
} from '../../adapters/conformance/fixture.js';
import type { Connection } from '../../adapters/mongo/connection.js';
import { planFind, planGet, type Row } from '../../adapters/mongo/layout.js';
import type { Collection, Document } from '../../core/contracts/dataset.js';
import { systemClock } from '../../core/contracts/runtime.js';
import type { Query, Scalar, Snapshot } from '../../core/contracts/storage.js';
import { OperatorError } from '../../core/errors.js';
import { whileFrozen } from '../support/server-process.js';
import { mongoForTests, type Server, startMongo, uniqueName } from '../support/services.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { intercepted, pausedBefore, Replicas, untilAway } from './mongo-replica.js';

const UNREACHABLE = 'The database cannot be reached.';
const NEVER = 3_600_000;

describe('replicas on MongoDB', () => {
  let replicas: Replicas;
  let server: Server | undefined;

  const useShared = async (): Promise<void> => {
    replicas = new Replicas((await mongoForTests()).url, uniqueName('replicas'));
  };
  const useOwn = async (options: { readonly replicaSet?: boolean } = {}): Promise<Server> => {
    server = await startMongo(options);
    replicas = new Replicas(server.url, 'replicas');
    return server;
  };
  afterEach(async () => {
    if (server) {
      server.resume();
      await replicas.close();
      await server.stop();
      server = undefined;
    } else {
      await replicas.end();
    }
  });

  describe('following the current version', () => {
    it('notices a new version by change stream, without polling', async () => {
      await useShared();
      const publisher = await replicas.open();
      await publisher.adapter.publish(datasetOf());
      const replica = await replicas.open({ pollMs: NEVER });
      await publisher.adapter.publish(anotherDataset());
      await eventually('the replica follows', () => replica.version() === SECOND, 5000);
      await publisher.adapter.versions.activate(FIRST);
      await eventually('the replica follows', () => replica.version() === FIRST, 5000);
    });

    it('notices a new version by polling if the server has no change streams', async () => {
      await useOwn({ replicaSet: false });
      const [publisher, replica] = [await replicas.open(), await replicas.open()];
      await publisher.adapter.publish(datasetOf());
      await eventually('the replica follows', () => replica.version() === FIRST, 5000);
      await publisher.adapter.publish(anotherDataset());
      await eventually('the replica follows', () => replica.version() === SECOND, 5000);
      const lines = replica.logger.lines.filter((line) => line.includes('no change streams'));
      assert.equal(lines.length, 1);
    });

    it('activates an existing version, and changes nothing if it is current', async () => {
      await useShared();
      const { adapter } = await replicas.open();
      const { message: none } = await failsWith('unknown_version', () => adapter.versions.activate(FIRST));
      assert.equal(none, `There is no version ${FIRST}. Versions in the store: none.`);
      await adapter.publish(datasetOf());
      await adapter.publish(anotherDataset());
      const { message } = await failsWith('unknown_version', () => adapter.versions.activate('x'));
      assert.equal(message, `There is no version x. Versions in the store: ${SECOND}, ${FIRST}.`);
      const moves = () =>
        replicas.raw(async (db) =>
          (await db.collection('catalog').findOne())?.['moves'].map(({ version }: { version: string }) => version),
        );
      await adapter.versions.activate(SECOND);
      assert.deepEqual(await moves(), [FIRST, SECOND]);
      await adapter.versions.activate(FIRST);
      assert.deepEqual(await moves(), [FIRST, SECOND, FIRST]);
    });

    it('continues after the catalog was dropped, and follows the next version', async () => {
      await useShared();
      const replica = await replicas.open();
      await replica.adapter.publish(datasetOf());
      await replicas.raw((db) => db.dropDatabase());
      const publisher = await replicas.open();
      await publisher.adapter.publish(anotherDataset());
      await eventually('the replica follows', () => replica.version() === SECOND, 5000);
      assert.deepEqual(replica.adapter.snapshot().manifest, anotherDataset().manifest);
    });

    it('rejects a version without a declared collection or order, logs it, and serves the next complete one', async () => {
      await useShared();
      const { crowd: _, ...fewer } = Object.fromEntries(collections);
      const publisher = await replicas.open({}, { collections: new Map(Object.entries(fewer)) });
      const replica = await replicas.open();
      await replica.adapter.publish(datasetOf());
      await publisher.adapter.publish(anotherDataset());
      await eventually('it says so', () => replica.problems.length > 0, 5000);
      assert.deepEqual(replica.problems, ['A new version was published for another configuration and is not served.']);
      assert.deepEqual(await replica.items(), rows['items']);
      await replica.adapter.publish(datasetOf('third-3', '2024-03-01T00:00:00.000Z'));
      assert.equal(replica.version(), 'third-3');
      await eventually('it is over', () => replica.problems.at(-1) === undefined, 5000);

      const declared = { ...items, orders: [...items.orders!, ['label', 'id']] };
      const other = await replicas.open({}, { collections: new Map([...collections, ['items', declared]]) });
      assert.equal(other.version(), undefined);
      assert.equal(other.problems.length, 1);
    });
  });

  describe('holding versions', () => {
    it('a version that another replica holds is not pruned, and stays complete until its release', async () => {
      await useShared();
      const [reader, pruner] = [await replicas.open(), await replicas.open()];
      await reader.adapter.publish(datasetOf());
      await eventually('the other follows', () => pruner.version() === FIRST, 5000);
      const held = reader.adapter.snapshot();
      await pruner.adapter.publish(anotherDataset());
      await eventually('the reader follows', () => reader.version() === SECOND, 5000);
      assert.deepEqual(await pruner.adapter.versions.prune(1), []);
      assert.deepEqual(await find(held, items), rows['items']);
      held.release();
      let deleted: readonly string[] = [];
      for (let tries = 0; deleted.length === 0; tries++) {
        assert(tries < 500, 'it is deleted after its release');
        deleted = await pruner.adapter.versions.prune(1);
      }
      assert.deepEqual(deleted, [FIRST]);
      assert.equal((await replicas.storedIds()).length, 1);
    });

    it('a version that another replica locks during prune() is not deleted', async () => {
      await useShared();
      const pruner = await replicas.open();
      await pruner.adapter.publish(datasetOf());
      const first = pruner.adapter.snapshot();
      first.release();
      await pruner.adapter.publish(anotherDataset());
      const reader = await replicas.open();
      let held: Snapshot | undefined;
      const lock = async () => {
        held = await reader.adapter.versions.asOf(first.publishedAt);
      };
      assert.deepEqual(await pausedBefore('remove a version', lock, () => pruner.adapter.versions.prune(1)), []);
      assert.deepEqual(await find(held!, items), rows['items']);
      const listed = await pruner.adapter.versions.list();
      assert.deepEqual(
        listed.map(({ version, held }) => ({ version, held })),
        [
          { version: SECOND, held: true },
          { version: FIRST, held: true },
        ],
      );
      held!.release();
    });

    it('a version that a replica locks again after its locks expired during prune() is not deleted', async () => {
      await useShared();
      const pruner = await replicas.open();
      await pruner.adapter.publish(datasetOf());
      let skew = 0;
      const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + skew };
      const reader = await replicas.open({ pollMs: NEVER }, { clock });
      const held = reader.adapter.snapshot();
      await pruner.adapter.publish(anotherDataset());
      await eventually('the reader follows', () => reader.version() === SECOND, 5000);
      const expire = { $set: { expires: new Date(0) } };
      await replicas.raw((db) => db.collection('replicas').updateMany({ holds: { $size: 2 } }, expire));
      const renew = async () => {
        skew = NEVER;
        await reader.adapter.versions.prune(2);
      };
      assert.deepEqual(await pausedBefore('remove a version', renew, () => pruner.adapter.versions.prune(1)), []);
      assert.deepEqual(await find(held, items), rows['items']);
      held.release();
    });

    it('a find() that started before prune() returns all its rows', async () => {
      await useShared();
      const [reader, pruner] = [await replicas.open({ batchSize: 5 }), await replicas.open()];
      await reader.adapter.publish(datasetOf());
      const held = reader.adapter.snapshot();
      const found: Document[] = [];
      for await (const batch of held.find('items', { order: items.key })) {
        if (found.length === 0) {
          await pruner.adapter.publish(anotherDataset());
          await pruner.adapter.versions.prune(1);
        }
        found.push(...batch);
      }
      assert.deepEqual(found, rows['items']);
      held.release();
    });

    it('concurrent reads during publications and pruning never mix versions or miss rows', async () => {
      await useShared();
      const [publisher, ...readers] = [await replicas.open(), await replicas.open(), await replicas.open()];
      await publisher.adapter.publish(anotherDataset('v0', '2024-01-01T00:00:00.000Z'));
      let over = false;
      const reading = readers.map(async (reader) => {
        await eventually('the reader follows', () => reader.version() !== undefined, 5000);
        let reads = 0;
        while (!over) {
          const snapshot = reader.adapter.snapshot();
          assert.deepEqual(await find(snapshot, items), itemsOf(snapshot.version));
          snapshot.release();
          reads++;
        }
        return reads;
      });
      for (let i = 1; i <= 15; i++) {
        await publisher.adapter.publish(anotherDataset(`v${i}`, new Date(Date.UTC(2024, 1, i)).toISOString()));
        await publisher.adapter.versions.prune(1);
      }
      over = true;
      for (const reads of await Promise.all(reading)) assert(reads > 0);
    });

    it('a replica that is disconnected for longer than its holds last rejects reads of pruned versions, and recovers', async () => {
      await useShared();
      const proxy = await startTcpProxy(Number(new URL(replicas.uri).port));
      const cutOff = new Replicas(`mongodb://127.0.0.1:${proxy.port}/?directConnection=true`, replicas.database);
      try {
        const pruner = await replicas.open();
        await pruner.adapter.publish(datasetOf());
        const replica = await cutOff.open({ holdMs: 1500, operationMs: 500 });
        const held = replica.adapter.snapshot();
        proxy.cutReplies();
        await pruner.adapter.publish(anotherDataset());
        let deleted: readonly string[] = [];
        for (let tries = 0; deleted.length === 0; tries++) {
          assert(tries < 1000, 'the holds end');
          deleted = await pruner.adapter.versions.prune(1);
        }
        assert.deepEqual(deleted, [FIRST]);
        proxy.mend();
        await failsWith('unavailable', () => find(held, items));
        await eventually('the replica follows', () => replica.version() === SECOND, 10_000);
        await failsWith('unavailable', () => find(held, items));
        await failsWith('unavailable', () => held.get('items', ['i01']));
        held.release();
        assert.deepEqual(await replica.items(), itemsOf(SECOND));
      } finally {
        await cutOff.end();
        await proxy.close();
      }
    });
  });

  describe('connections', () => {
    it('are shared by all short reads', async () => {
      await useShared();
      const { adapter } = await replicas.open();
      await adapter.publish(datasetOf());
      const used = new Set<Connection>();
      const note = async (_: string, connection: Connection) => used.add(connection);
      await intercepted(note, async () => {
        await adapter.versions.list();
        await adapter.audit.list();
        await adapter.history.read();
        (await adapter.versions.asOf(new Date()))!.release();
      });
      assert.equal(used.size, 1);
    });

    it('stay open until asOf() has locked a version, and close() releases the lock', async () => {
      await useShared();
      const { adapter } = await replicas.open();
      await adapter.publish(datasetOf());
      const first = adapter.snapshot();
      first.release();
      await adapter.publish(anotherDataset());
      await adapter.versions.prune(2);
      let closing: Promise<void> | undefined;
      const close = async () => {
        closing = adapter.close();
      };
      const found = await pausedBefore('lock a version', close, () => adapter.versions.asOf(first.publishedAt));
      assert.equal(found?.version, FIRST);
      await closing;
      assert.equal(await replicas.raw((db) => db.collection('replicas').countDocuments()), 0);
    });
  });

  describe('while MongoDB is unreachable', () => {
    it('open() resolves, logs the problem, and the replica becomes ready when MongoDB is reachable', async () => {
      const mongod = await useOwn();
      await (await replicas.open()).adapter.publish(datasetOf());
      await mongod.kill();
      const replica = await replicas.open();
      assert.deepEqual(replica.problems, [UNREACHABLE]);
      await failsWith('unavailable', () => replica.adapter.snapshot());
      await failsWith('unavailable', () => replica.adapter.ping());
      await failsWith('unavailable', () => replica.adapter.publish(anotherDataset()));
      await mongod.restart();
      await eventually('it is ready', () => replica.version() === FIRST, 10_000);
      assert.deepEqual(await replica.items(), rows['items']);
      await eventually('it is over', () => replica.problems.at(-1) === undefined, 5000);
      await replica.adapter.ping();
      assert.deepEqual(
        replica.logger.lines.filter((line) => line.includes(': MongoDB')),
        ['warn: MongoDB is unreachable; retrying', 'info: MongoDB is reachable again'],
      );
    });

    for (const [what, stop, restart] of [
      ['killed', (mongod: Server) => mongod.kill(), (mongod: Server) => mongod.restart()],
      ['frozen', async (mongod: Server) => mongod.freeze(), async (mongod: Server) => mongod.resume()],
    ] as const) {
      it(`every read of a server that is ${what} rejects with unavailable before the server is back, and works afterwards`, async () => {
        const mongod = await useOwn();
        const replica = await replicas.open();
        await replica.adapter.publish(datasetOf());
        const held = replica.adapter.snapshot();
        await stop(mongod);
        await untilAway(replica.adapter);
        const reads = [
          ...Array.from({ length: 200 }, () => held.get('items', ['i01'])),
          find(held, items),
          replica.adapter.ping(),
        ];
        for (const read of await Promise.allSettled(reads)) {
          assert.equal(read.status, 'rejected');
          assert.equal((read.reason as { code?: string }).code, 'unavailable');
        }
        assert.equal(replica.version(), FIRST);
        await eventually('it says so', () => replica.problems.at(-1) === UNREACHABLE, 5000);
        await restart(mongod);
        await eventually('it is over', () => replica.problems.at(-1) === undefined, 10_000);
        assert.deepEqual(await find(held, items), rows['items']);
        held.release();
        await replica.adapter.publish(anotherDataset());
        assert.deepEqual(await replica.items(), itemsOf(SECOND));
      });
    }

    it('close() resolves while the server is frozen', async () => {
      const mongod = await useOwn();
      const replica = await replicas.open();
      await replica.adapter.publish(datasetOf());
      await whileFrozen(mongod, async () => {
        await untilAway(replica.adapter);
        await replica.adapter.close();
      });
    });
  });

  describe('queries', () => {
    const valuesOf = (row: Document, fields: readonly string[]) =>
      Object.fromEntries(fields.map((field) => [field, row[field] as Scalar]));

    /**
     * Returns queries for every way to read a declared order: each equality prefix, with and without a range on the
     * next field, in both directions.
     */
    const queriesOf = ({ name, key, orders = [] }: Collection): Query[] => {
      const row = rows[name]?.[3];
      if (!row) return [key, ...orders].map((order) => ({ order }));
      return [key, ...orders].flatMap((order) =>
        [...order.keys(), order.length].flatMap((length) => {
          const equal = valuesOf(row, order.slice(0, length));
          const after = order.slice(length).map((field) => row[field] as Scalar);
          const ranges = order.slice(length).map((field) => ({ field, from: row[field] as Scalar }));
          return [undefined, ...ranges].flatMap((range) =>
            [false, true].flatMap((descending) => {
              const query = { order, equal, descending, ...(range && { range }) };
              return after.length > 0 ? [query, { ...query, after }] : [query];
            }),
          );
        }),
      );
    };

    it('return the same rows in batches of any size, for every order, prefix, range, direction and cursor', async () => {
      await useShared();
      const whole = await replicas.open();
      await whole.adapter.publish(datasetOf());
      const small = await Promise.all([1, 3].map((batchSize) => replicas.open({ batchSize })));
      let found = 0;
      for (const collection of collections.values()) {
        for (const query of queriesOf(collection)) {
          const expected = await find(whole.adapter.snapshot(), collection, query);
          found += expected.length;
          for (const { adapter } of small)
            assert.deepEqual(await find(adapter.snapshot(), collection, query), expected, JSON.stringify(query));
        }
      }
      assert(found > 100, `${found} rows were read`);
    });

    it('return all rows if a batch is larger than a reply of MongoDB', async () => {
      await useShared();
      const { adapter } = await replicas.open();
      const large = rows['items']!.map((item) => ({ ...item, label: String(item['id']).repeat(2_000_000) }));
      await adapter.publish(datasetOf(SECOND, undefined, { ...rows, items: large }));
      let read = 0;
      for await (const batch of adapter.snapshot().find('items', { order: ['id'] })) {
        assert(batch.length < large.length, `${batch.length} rows in one batch`);
        assert(batch.every(({ label }, i) => label === large[read + i]?.label));
        read += batch.length;
      }
      assert.equal(read, large.length);
    });

    const stagesOf = (plan: { stage: string; inputStage?: typeof plan; inputStages?: (typeof plan)[] }): string[] => [
      plan.stage,
      ...[plan.inputStage ?? [], plan.inputStages ?? []].flat().flatMap(stagesOf),
    ];

    it('use one index each, without a collection scan or a sort, for every order, prefix, range, direction and cursor', async () => {
      await useShared();
      await (await replicas.open()).adapter.publish(datasetOf());
      const [id] = await replicas.storedIds();
      let plans = 0;
      await replicas.raw(async (db) => {
        for (const collection of collections.values()) {
          const row = rows[collection.name]?.[0];
          const key = collection.key.map((field) => (row?.[field] ?? 'x') as Scalar);
          const reads = [planGet(collection, key), ...queriesOf(collection).map((query) => planFind(query, 100))];
          for (const { filter, options } of reads) {
            const explained = await db
              .collection<Row>(`data.${id}.${collection.name}`)
              .find(filter, options)
              .explain('queryPlanner');
            const stages = stagesOf(explained['queryPlanner'].winningPlan);
            const what = `${collection.name} ${JSON.stringify({ filter, sort: options.sort })}: ${stages}`;
            assert(stages.includes('IXSCAN'), what);
            assert(!stages.some((stage) => stage === 'COLLSCAN' || stage === 'SORT'), what);
            plans++;
          }
        }
      });
      assert(plans > 80, `${plans} plans were read`);
    });
  });

  describe('options', () => {
    for (const uri of ['mongodb://user:se@cret@host/', 'nonsense', 'mongodb://host:port/']) {
      it(`an invalid connection string is an operator error that does not repeat the string: ${uri}`, async () => {
        await useShared();
        const broken = new Replicas(uri, replicas.database);
        assert.throws(
          () => broken.make(),
          (error: Error) => error instanceof OperatorError && !/cret|nonsense/.test(error.message),
        );
      });
    }
  });
});

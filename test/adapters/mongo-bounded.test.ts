import { expect } from 'chai';
import { failsWith } from '../../adapters/conformance/expect.js';
import { MongoAudit } from '../../adapters/mongo/audit.js';
import { Catalog } from '../../adapters/mongo/catalog.js';
import type { Connection } from '../../adapters/mongo/connection.js';
import { bounded, toStorageError } from '../../adapters/mongo/connection.js';
import { readUse, writeUse } from '../../adapters/mongo/key-documents.js';
import { expireReplicas, lockedIds, ReplicaLocks } from '../../adapters/mongo/replica-locks.js';
import { sweep } from '../../adapters/mongo/sweep.js';
import { systemClock } from '../../core/contracts/runtime.js';
import { StorageError } from '../../core/errors.js';
import { closedConnection } from './mongo-database.js';

const never = (): Promise<never> => new Promise(() => undefined);

describe('bounded() of the MongoDB adapter', () => {
  it('resolves with the result of the work', async () => {
    expect(await bounded('count', 1000, undefined, async () => 7)).to.equal(7);
  });

  it('rejects with unavailable and the cause when the work fails', async () => {
    const cause = new Error('It is not there.');
    const error = await failsWith('unavailable', () => bounded('count', 1000, undefined, () => Promise.reject(cause)));
    expect(error).to.include({ message: 'MongoDB could not count: It is not there.', cause });
  });

  it('passes on errors of the storage contract unchanged', async () => {
    const error = new StorageError('conflict', 'Another publisher was first.');
    expect(toStorageError(error, 'count')).to.equal(error);
    expect(await failsWith('conflict', () => bounded('count', 1000, undefined, () => Promise.reject(error)))).to.equal(
      error,
    );
  });

  it('rejects with unavailable after the timeout, and not earlier', async () => {
    const began = performance.now();
    const error = await failsWith('unavailable', () => bounded('count', 40, undefined, never));
    expect(error.message).to.equal('MongoDB did not count within 40 ms.');
    expect(performance.now() - began).to.be.within(39, 2000);
  });

  it('rejects with aborted as soon as its signal is aborted, and starts no work after that', async () => {
    const abort = new AbortController();
    const waiting = failsWith('aborted', () => bounded('count', 60_000, abort.signal, never));
    abort.abort('enough');
    expect(await waiting).to.include({
      message: 'Aborted before MongoDB could count.',
      cause: 'enough',
    });
    let begun = false;
    const late = await failsWith('aborted', () =>
      bounded('count', 60_000, abort.signal, async () => {
        begun = true;
      }),
    );
    expect(late.cause).to.equal('enough');
    expect(begun).to.equal(false);
  });

  it('leaves no timer and no listener', async () => {
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (type: string, listener: never, options?: never) => {
      listeners.add(listener);
      add(type, listener, options);
    };
    signal.removeEventListener = (type: string, listener: never) => {
      listeners.delete(listener);
      remove(type, listener);
    };
    const times = 50;
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    for (let i = 0; i < times; i++) {
      await bounded('count', 60_000, signal, async () => undefined);
      await failsWith('unavailable', () => bounded('count', 60_000, signal, () => Promise.reject(new Error('no'))));
    }
    expect(listeners.size).to.equal(0);
    // Mocha uses timers too, so the number of timers is never zero.
    expect(timers() - before).to.be.below(times);
  });
});

describe('errors of the MongoDB adapter name the failed operation', () => {
  let connection: Connection;
  before(async () => {
    connection = await closedConnection();
  });

  const publication = { id: 1, version: '1', publishedAt: new Date(0) };
  const catalog = () => new Catalog(connection);
  const operations: readonly (readonly [what: string, work: () => Promise<unknown>])[] = [
    ['read the catalog', () => catalog().current()],
    ['read the catalog', () => catalog().read()],
    ['create the catalog', () => catalog().lock('me', 1000)],
    ['renew the lock', () => catalog().renew('me', 1000)],
    ['unlock the catalog', () => catalog().unlock('me')],
    ['move the pointer', () => catalog().commit('me', publication, null)],
    ['move the pointer', () => catalog().activate(publication, null)],
    ['lock a version', () => catalog().countLock(1)],
    ['remove a version', () => catalog().remove(publication)],
    ['read the locks', () => lockedIds(connection)],
    ['create an index', () => expireReplicas(connection)],
    ['write the locks', () => new ReplicaLocks(connection, systemClock, 1000).renew([1], async () => undefined)],
    ['list the collections', () => sweep(connection, catalog())],
    ['read the audit', () => new MongoAudit(connection, 'audit').list()],
    ['write the audit', () => new MongoAudit(connection, 'audit').around({ time: '', by: '' }, async () => true)],
    ['note the use of keys', () => writeUse(connection, new Map([['key', 1]]))],
    ['read the use of keys', () => readUse(connection)],
  ];
  for (const [index, [what, work]] of operations.entries()) {
    it(`${index + 1}: ${what}`, async () => {
      const { message } = await failsWith('unavailable', work);
      expect(message).to.match(new RegExp(`^MongoDB could not ${what}: .`));
    });
  }
});

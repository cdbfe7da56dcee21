/** Faults of opening, closing, asking whether it works, and saying what it can do. */
import { StorageError } from '../../../../core/errors.js';
import { inSnapshot } from '../breakable.js';
import { type BrokenAdapter, getting, hasCode } from './breaking.js';

export const lifecycleFaults: readonly BrokenAdapter[] = [
  {
    that: 'throws errors of its own kind',
    ...getting(async (snapshot, ...given) => {
      try {
        return await snapshot.get(...given);
      } catch (error) {
        throw hasCode(error, 'closed') ? new Error('The database is not open') : error;
      }
    }),
    fails: ['close() makes reads of a held snapshot reject with closed; its release() stays possible'],
  },
  {
    that: 'does not say why it cannot be pinged',
    fault: (adapter) => ({
      async ping(signal) {
        await adapter.ping(signal).catch((error) => {
          throw hasCode(error, 'closed') ? new StorageError('closed', '') : error;
        });
      },
    }),
    fails: ['close() makes every later call fail with closed'],
  },
  {
    that: 'can do more than it says',
    capabilities: { publish: true, versions: false },
    fails: ['the adapter can do what its capabilities say, and nothing else'],
  },
  {
    that: 'throws when it is closed twice',
    fault(adapter) {
      let closed = false;
      return {
        async close() {
          if (closed) throw new StorageError('closed', 'Closed already.');
          closed = true;
          await adapter.close();
        },
      };
    },
    fails: ['close() may be called twice, one after the other and at once'],
  },
  {
    that: 'opens again after it was closed',
    fault: (adapter) => ({ open: () => adapter.open().catch(() => {}) }),
    fails: [
      'close() makes a later open() reject with closed',
      'close() may be called before open(), which then rejects with closed',
    ],
  },
  {
    that: 'answers pings while its backend is gone',
    fault: (adapter) => ({
      async ping(signal) {
        await adapter.ping(signal).catch((error) => {
          if (!hasCode(error, 'unavailable')) throw error;
        });
      },
    }),
    fails: ['ping() rejects with unavailable while the backend is gone, and resolves when it is back'],
  },
  {
    that: 'finds nothing while its backend is gone',
    fault: inSnapshot((snapshot, adapter) => ({
      async *find(...given) {
        const gone = await adapter.ping().then(
          () => false,
          (error) => hasCode(error, 'unavailable'),
        );
        if (!gone) yield* snapshot.find(...given);
      },
    })),
    fails: ['reads while the backend is gone answer rightly or reject with unavailable, and work when it is back'],
  },
];

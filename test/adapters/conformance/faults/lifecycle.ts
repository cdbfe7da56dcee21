import { StorageError } from '../../../../core/errors.js';
import { inSnapshot } from '../breakable.js';
import { type BrokenAdapter, getting, hasCode } from './breaking.js';

export const lifecycleFaults: readonly BrokenAdapter[] = [
  {
    that: 'throws its own errors',
    ...getting(async (snapshot, ...given) => {
      try {
        return await snapshot.get(...given);
      } catch (error) {
        throw hasCode(error, 'closed') ? new Error('The database is not open') : error;
      }
    }),
    fails: ['close() makes reads of a held snapshot reject with closed; release() is still allowed'],
  },
  {
    that: 'rejects pings with an error other than closed',
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
    that: 'has more capabilities than it declares',
    capabilities: { publish: true, versions: false },
    fails: ['the adapter and its snapshots have the members of its capabilities, and no others'],
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
    fails: ['close() may be called twice, one after the other or at the same time'],
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
    that: 'answers pings while its backend is unreachable',
    fault: (adapter) => ({
      async ping(signal) {
        await adapter.ping(signal).catch((error) => {
          if (!hasCode(error, 'unavailable')) throw error;
        });
      },
    }),
    fails: ['ping() rejects with unavailable while the backend is unreachable, and resolves when it is back'],
  },
  {
    that: 'finds nothing while its backend is unreachable',
    fault: inSnapshot((snapshot, adapter) => ({
      async *find(...given) {
        const gone = await adapter.ping().then(
          () => false,
          (error) => hasCode(error, 'unavailable'),
        );
        if (!gone) yield* snapshot.find(...given);
      },
    })),
    fails: [
      'reads while the backend is unreachable return the right result or reject with unavailable, and work when it is back',
    ],
  },
];

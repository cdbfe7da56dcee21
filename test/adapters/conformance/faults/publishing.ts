import { collections } from '../../../../adapters/conformance/fixture.js';
import type { Document } from '../../../../core/contracts/dataset.js';
import type { Dataset } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { inSnapshot } from '../breakable.js';
import { type BrokenAdapter, hasCode, publishing } from './breaking.js';

export const publishingFaults: readonly BrokenAdapter[] = [
  {
    that: 'shows an incomplete dataset',
    fault(adapter) {
      let half: Document[] | undefined;
      return {
        async publish(dataset, options) {
          const { manifest } = dataset;
          const read = async function* (collection: string) {
            for await (const batch of dataset.read(collection)) {
              if (collection === 'items' && manifest.version === 'second-2') half = [...(half ?? []), ...batch];
              yield batch;
            }
          };
          await adapter.publish!({ manifest, read }, options).finally(() => {
            half = undefined;
          });
        },
        snapshot() {
          const snapshot = adapter.snapshot();
          const shown = half;
          return shown
            ? {
                ...snapshot,
                find: async function* () {
                  yield shown;
                },
              }
            : snapshot;
        },
      };
    },
    fails: ['publish(dataset) makes a dataset visible only as a whole'],
  },
  {
    that: 'reports a dataset that cannot be read as unavailable',
    ...publishing(async (adapter, ...given) => {
      await adapter.publish!(...given).catch((error) => {
        throw hasCode(error, 'invalid_dataset')
          ? new StorageError('unavailable', 'Not written.', { cause: error })
          : error;
      });
    }),
    fails: [
      'publish(dataset) rejects with invalid_dataset if the dataset cannot be read to the end, and changes nothing',
    ],
  },
  {
    that: 'remembers the version of a failed publication',
    fault(adapter) {
      const failed = new Set<string>();
      return {
        async publish(dataset, options) {
          const { version } = dataset.manifest;
          if (failed.has(version)) throw new StorageError('conflict', `The version "${version}" exists already.`);
          await adapter.publish!(dataset, options).catch((error) => {
            if (hasCode(error, 'invalid_dataset')) failed.add(version);
            throw error;
          });
        },
      };
    },
    fails: ['publish(dataset) works again after a failure, under the same version'],
  },
  {
    that: 'accepts different content under the current version',
    fault: (adapter) => ({
      async publish(dataset, options) {
        const list = await adapter.versions!.list();
        const current = list.find((version) => version.current)?.version;
        if (current !== dataset.manifest.version) await adapter.publish!(dataset, options);
      },
    }),
    fails: [
      'publish(dataset) rejects with conflict for different content under an existing version, and changes nothing',
    ],
  },
  {
    that: 'ignores the signal of a publication',
    ...publishing((adapter, dataset, { signal, ...options } = {}) => adapter.publish!(dataset, options)),
    fails: [
      'publish(dataset) rejects with aborted when its signal is aborted, and changes nothing',
      'publish(dataset) rejects with aborted when its signal is aborted after the last row, and changes nothing',
    ],
  },
  {
    that: 'ignores the signal of a publication after it has read all rows',
    ...publishing((adapter, dataset, { signal, ...options } = {}) => {
      if (!signal || signal.aborted) return adapter.publish!(dataset, { ...options, ...(signal && { signal }) });
      const controller = new AbortController();
      const forward = () => controller.abort();
      signal.addEventListener('abort', forward);
      let read = 0;
      const observed: Dataset = {
        manifest: dataset.manifest,
        async *read(collection) {
          if (++read === collections.size) signal.removeEventListener('abort', forward);
          yield* dataset.read(collection);
        },
      };
      return adapter.publish!(observed, { ...options, signal: controller.signal });
    }),
    fails: ['publish(dataset) rejects with aborted when its signal is aborted after the last row, and changes nothing'],
  },
  {
    that: 'reports no progress',
    ...publishing((adapter, dataset, { onProgress, ...options } = {}) => adapter.publish!(dataset, options)),
    fails: ['publish(dataset) reports its progress up to the last row of each collection'],
  },
  {
    that: 'changes the documents that it receives',
    ...publishing((adapter, dataset, options) =>
      adapter.publish!(
        {
          manifest: dataset.manifest,
          async *read(collection) {
            for await (const batch of dataset.read(collection)) {
              yield structuredClone(batch);
              for (const document of batch) Object.assign(document, { _id: 1 });
            }
          },
        },
        options,
      ),
    ),
    fails: ['publish(dataset) does not change the documents that it receives'],
  },
  {
    that: "uses the dataset's time for every publication",
    fault: inSnapshot((snapshot) => ({ publishedAt: new Date(snapshot.manifest.created) })),
    fails: [
      'publish(dataset) uses the current time as publication time if the previous version is not older than the dataset',
    ],
  },
];

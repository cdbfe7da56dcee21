import { setTimeout as delay } from 'node:timers/promises';
import type { Dataset, PublishOptions } from '../../../../core/contracts/storage.js';
import { FolderAdapter } from '../folder-adapter.js';
import { type BrokenAdapter, hasCode, versioning } from './breaking.js';

export const versionFaults: readonly BrokenAdapter[] = [
  {
    that: 'lists the oldest version first',
    ...versioning((versions) => ({ list: async () => [...(await versions.list())].reverse() })),
    fails: ['versions list() returns the published versions, newest first'],
  },
  {
    that: 'does not count locks on a version',
    fault: (adapter) => ({
      snapshot() {
        const snapshot = adapter.snapshot();
        snapshot.release();
        return { ...snapshot, release() {} };
      },
    }),
    fails: [
      'versions list() shows which versions are held',
      'versions prune() keeps a held version readable, and deletes it after its release',
    ],
  },
  {
    that: 'does not lock the version that asOf() returns',
    ...versioning((versions) => ({
      async asOf(time) {
        const snapshot = await versions.asOf(time);
        snapshot?.release();
        return snapshot && { ...snapshot, release() {} };
      },
    })),
    fails: ['versions asOf() locks the version that it returns'],
  },
  {
    that: 'keeps one version too many',
    ...versioning((versions) => ({
      prune: async (keep) => versions.prune((await versions.list()).length > 2 && keep === 1 ? keep + 1 : keep),
    })),
    fails: ['versions prune() deletes all but the newest, and returns what it deleted'],
  },
  {
    that: 'deletes a version that is activated a moment later',
    folder: class extends FolderAdapter {
      override async prune(keep: number) {
        this.look();
        const pruned = this.toPrune(keep);
        await delay(5);
        this.look();
        this.remove(pruned);
        return pruned.map(({ version }) => version);
      }
    },
    fails: ['versions prune() keeps a version that is activated a moment later'],
  },
  {
    that: 'counts a publication in progress when it deletes versions',
    folder: class extends FolderAdapter {
      #publishing = 0;
      override async publish(dataset: Dataset, options?: PublishOptions) {
        this.#publishing++;
        await super.publish(dataset, options).finally(() => this.#publishing--);
      }
      override toPrune(keep: number) {
        return super.toPrune(keep - this.#publishing);
      }
    },
    fails: ['versions prune() does not count a publication that is in progress'],
  },
  {
    that: 'cannot list the versions of an empty store',
    ...versioning((versions, adapter) => ({
      async list() {
        adapter.snapshot().release();
        return versions.list();
      },
    })),
    fails: ['versions an empty store has no versions to list, prune, read or activate'],
  },
  {
    that: 'activates a missing version',
    ...versioning((versions) => ({
      async activate(version) {
        await versions.activate(version).catch((error) => {
          if (!hasCode(error, 'unknown_version')) throw error;
        });
      },
    })),
    fails: ['versions activate() rejects with unknown_version for a missing version, and changes nothing'],
  },
  {
    that: 'returns the current version from asOf() instead of undefined',
    ...versioning((versions, adapter) => ({
      asOf: async (time) => (await versions.asOf(time)) ?? adapter.snapshot(),
    })),
    fails: [
      'versions asOf() returns undefined, not an older version, if the version of that time was pruned',
      'versions asOf() returns the version that was current at a time, from its publication on',
    ],
  },
  {
    that: 'forgets earlier activations',
    ...versioning((versions) => ({
      async asOf(time) {
        const [newest] = await versions.list();
        return versions.asOf(newest && newest.publishedAt < time ? newest.publishedAt : time);
      },
    })),
    fails: ['versions asOf() returns what was current before activate()'],
  },
  {
    that: 'ignores prune(0)',
    sqlite: { prune: (versions, keep) => (keep === 0 ? [] : versions.slice(0, Math.max(0, versions.length - keep))) },
    fails: ['versions prune(0) keeps the current version and held ones, and deletes all others'],
  },
  {
    that: 'prunes in the order of version names',
    sqlite: {
      prune: (versions, keep) =>
        versions.toSorted((a, b) => (a.version < b.version ? -1 : 1)).slice(0, Math.max(0, versions.length - keep)),
    },
    fails: ['versions prune() keeps the last publications, whatever their names and times of creation'],
  },
  {
    that: 'counts the current version among the newest',
    sqlite: { prune: (versions, keep) => versions.slice(0, Math.max(0, versions.length - keep + 1)) },
    fails: ['versions prune() counts the newest by publication, and keeps the current version in addition'],
  },
  {
    that: 'lists the current version first',
    ...versioning((versions) => ({
      list: async () => (await versions.list()).toSorted((a, b) => Number(b.current) - Number(a.current)),
    })),
    fails: [
      'versions activate() changes the current version in any direction, and list() stays in the order of publication',
    ],
  },
  {
    that: 'accepts different content under an older version',
    fault: (adapter) => ({
      async publish(dataset, options) {
        const current = (await adapter.versions!.list()).find((version) => version.current)?.version;
        await adapter.publish!(dataset, options).catch((error) => {
          if (!hasCode(error, 'conflict') || current === dataset.manifest.version) throw error;
        });
      },
    }),
    fails: ['versions publish() rejects with conflict for different content under an existing version, current or not'],
  },
  {
    that: 'returns rows of the current version from asOf()',
    ...versioning((versions, adapter) => ({
      async asOf(time) {
        const snapshot = await versions.asOf(time);
        if (!snapshot) return undefined;
        const current = adapter.snapshot();
        current.release();
        return { ...snapshot, get: current.get };
      },
    })),
    fails: ['versions asOf() returns the whole version: rows, manifest and publication time'],
  },
];

/** Faults of versions. */
import { type BrokenAdapter, hasCode, versioning } from './breaking.js';

export const versionFaults: readonly BrokenAdapter[] = [
  {
    that: 'lists the oldest version first',
    ...versioning((versions) => ({ list: async () => [...(await versions.list())].reverse() })),
    fails: ['versions list() answers with what was published, the newest first'],
  },
  {
    that: 'does not count who holds a version',
    fault: (adapter) => ({
      snapshot() {
        const snapshot = adapter.snapshot();
        snapshot.release();
        return { ...snapshot, release() {} };
      },
    }),
    fails: [
      'versions list() tells which versions are held',
      'versions prune() leaves a version that is held readable, and deletes it after its release',
    ],
  },
  {
    that: 'does not hold what asOf() answers with',
    ...versioning((versions) => ({
      async asOf(time) {
        const snapshot = await versions.asOf(time);
        snapshot?.release();
        return snapshot && { ...snapshot, release() {} };
      },
    })),
    fails: ['versions asOf() holds what it answers with'],
  },
  {
    that: 'keeps one version more than it is told to',
    ...versioning((versions) => ({
      prune: async (keep) => versions.prune((await versions.list()).length > 2 && keep === 1 ? keep + 1 : keep),
    })),
    fails: ['versions prune() deletes all but the newest, and answers with what it deleted'],
  },
  {
    that: 'cannot list nothing',
    ...versioning((versions, adapter) => ({
      async list() {
        adapter.snapshot().release();
        return versions.list();
      },
    })),
    fails: ['versions an empty store lists none, and has none to prune'],
  },
  {
    that: 'activates what is not there',
    ...versioning((versions) => ({
      async activate(version) {
        await versions.activate(version).catch((error) => {
          if (!hasCode(error, 'unknown_version')) throw error;
        });
      },
    })),
    fails: ['versions activate() rejects with unknown_version for one that is not there, and changes nothing'],
  },
  {
    that: 'answers asOf() with the current version where there is none',
    ...versioning((versions, adapter) => ({
      asOf: async (time) => (await versions.asOf(time)) ?? adapter.snapshot(),
    })),
    fails: [
      'versions asOf() answers with nothing, rather than an older version, where the one of the time was pruned',
      'versions asOf() answers with the version that was current at a time, from its publication on',
    ],
  },
  {
    that: 'forgets what was activated when',
    ...versioning((versions) => ({
      async asOf(time) {
        const [newest] = await versions.list();
        return versions.asOf(newest && newest.publishedAt < time ? newest.publishedAt : time);
      },
    })),
    fails: ['versions asOf() remembers what was current before activate()'],
  },
  {
    that: 'prunes nothing where it is to keep none',
    sqlite: { prune: (versions, keep) => (keep === 0 ? [] : versions.slice(0, Math.max(0, versions.length - keep))) },
    fails: ['versions prune(0) leaves the current version and those in use, and deletes all others'],
  },
  {
    that: 'prunes by the names of versions',
    sqlite: {
      prune: (versions, keep) =>
        versions.toSorted((a, b) => (a.version < b.version ? -1 : 1)).slice(0, Math.max(0, versions.length - keep)),
    },
    fails: ['versions are in the order of their publication, whatever their names and when they were created'],
  },
  {
    that: 'counts the current version among those to keep',
    sqlite: { prune: (versions, keep) => versions.slice(0, Math.max(0, versions.length - keep + 1)) },
    fails: ['versions prune() counts the newest by publication, and leaves the current one beside them'],
  },
  {
    that: 'lists what is current first',
    ...versioning((versions) => ({
      list: async () => (await versions.list()).toSorted((a, b) => Number(b.current) - Number(a.current)),
    })),
    fails: ['versions activate() goes to and fro, and list() stays in the order of publication'],
  },
  {
    that: 'takes other content under an older version for the same',
    fault: (adapter) => ({
      async publish(dataset, options) {
        const current = (await adapter.versions!.list()).find((version) => version.current)?.version;
        await adapter.publish!(dataset, options).catch((error) => {
          if (!hasCode(error, 'conflict') || current === dataset.manifest.version) throw error;
        });
      },
    }),
    fails: ['versions publish() rejects with conflict for other content under a version that is there, current or not'],
  },
  {
    that: 'answers asOf() with the rows of the current version',
    ...versioning((versions, adapter) => ({
      async asOf(time) {
        const snapshot = await versions.asOf(time);
        if (!snapshot) return undefined;
        const current = adapter.snapshot();
        current.release();
        return { ...snapshot, get: current.get };
      },
    })),
    fails: ['versions asOf() answers with the whole of its version: rows, manifest and publication time'],
  },
];

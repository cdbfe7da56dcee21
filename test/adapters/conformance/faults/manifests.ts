import type { Manifest } from '../../../../core/contracts/dataset.js';
import { inSnapshot } from '../breakable.js';
import type { Catalog } from '../sqlite-adapter.js';
import { type BrokenAdapter, versioning } from './breaking.js';

const keeping = (change: (manifest: Manifest) => Manifest) => ({
  catalog: (catalog: Catalog): Catalog => ({
    ...catalog,
    versions: catalog.versions.map((version) => ({ ...version, manifest: change(version.manifest) })),
  }),
});

const times = (change: (time: string) => string) => ({
  catalog: ({ versions, moves, audit }: Catalog): Catalog => ({
    audit,
    versions: versions.map((version) => ({ ...version, publishedAt: change(version.publishedAt) })),
    moves: moves.map(({ since, ...move }) => ({ ...move, since: change(since) })),
  }),
});

const MANIFEST =
  'snapshot() keeps the manifest as it was published: every field, null or absent, and the same text in created';
const DESCRIBES = 'snapshot() has the version and the manifest of its dataset';
const TIMES = 'snapshot() uses the creation time of its dataset as its publication time';

export const manifestFaults: readonly BrokenAdapter[] = [
  {
    that: 'loses the attribution of sources',
    sqlite: keeping((manifest) => ({
      ...manifest,
      sources: manifest.sources.map(({ attribution, ...source }) => source),
    })),
    fails: [DESCRIBES],
  },
  {
    that: 'omits nulls from manifests',
    sqlite: keeping((manifest) => JSON.parse(JSON.stringify(manifest, (_, value) => value ?? undefined))),
    fails: [DESCRIBES],
  },
  {
    that: 'keeps only the first source',
    sqlite: keeping((manifest) => ({ ...manifest, sources: manifest.sources.slice(0, 1) })),
    fails: [DESCRIBES],
  },
  {
    that: 'stores one source for each title',
    sqlite: keeping((manifest) => ({
      ...manifest,
      sources: [...new Map(manifest.sources.map((source) => [source.title, source])).values()],
    })),
    fails: [MANIFEST],
  },
  {
    that: 'marks every dataset as synthetic',
    ...{ fault: inSnapshot(({ manifest }) => ({ manifest: { ...manifest, synthetic: true } })) },
    fails: [MANIFEST],
  },
  {
    that: 'formats the times of a manifest',
    fault: inSnapshot(({ manifest }) => ({
      manifest: { ...manifest, created: new Date(manifest.created).toISOString() },
    })),
    fails: [MANIFEST],
  },
  {
    that: 'takes the vintage from the time of creation',
    fault: inSnapshot(({ manifest }) => ({ manifest: { ...manifest, vintage: manifest.created.slice(0, 10) } })),
    fails: [MANIFEST],
  },
  {
    that: 'ignores the case of version names',
    sqlite: keeping((manifest) => ({ ...manifest, version: manifest.version.toLowerCase() })),
    fails: [MANIFEST],
  },
];

export const timeFaults: readonly BrokenAdapter[] = [
  {
    that: 'truncates publication times to seconds',
    sqlite: times((time) => `${time.slice(0, 19)}Z`),
    fails: ['snapshot() has its publication time in milliseconds', 'versions have publication times in milliseconds'],
  },
  {
    that: 'truncates publication times to days',
    sqlite: times((time) => time.slice(0, 10)),
    fails: ['versions asOf() returns the version that was current at a time, from its publication on'],
  },
  {
    that: 'returns the time of loading as publication time',
    fault(adapter) {
      const time = new Date();
      return { snapshot: () => ({ ...adapter.snapshot(), publishedAt: time }) };
    },
    fails: [TIMES],
  },
  {
    that: 'makes a version current just after its publication',
    sqlite: { since: (moves, time) => moves.findLast(({ since }) => new Date(since) < time) },
    fails: ['versions asOf() returns the version that was current at a time, from its publication on'],
  },
  {
    that: 'returns publication times as text',
    fault: inSnapshot(({ publishedAt }) => ({ publishedAt: publishedAt.toISOString() as never })),
    fails: ['snapshot() has its publication time in milliseconds'],
  },
  {
    that: 'returns the first version for a time before its publication',
    ...versioning((versions) => ({
      async asOf(time) {
        const found = await versions.asOf(time);
        const first = (await versions.list()).at(-1);
        return found ?? (first && time < first.publishedAt ? versions.asOf(first.publishedAt) : undefined);
      },
    })),
    fails: ['versions asOf() returns the version that was current at a time, from its publication on'],
  },
];

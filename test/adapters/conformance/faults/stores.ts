/** Bugs that appear only when several adapters share a store, in one process or in two. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rename, writeFile as writeDraft } from 'node:fs/promises';
import type { AdapterContext, Dataset, StorageAdapter } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { FolderAdapter } from '../folder-adapter.js';
import { ExclusiveAdapter } from '../right-adapters.js';
import type { BrokenAdapter } from './breaking.js';

const OTHER = 'another adapter over the same store';
const CLOSED = 'after every adapter was closed';
const PROCESS = 'an adapter in another process, over the same store';

const within =
  (folder: () => string) =>
  (context: AdapterContext): AdapterContext => {
    const own = context.resolvePath(folder());
    mkdirSync(own, { recursive: true });
    return { ...context, resolvePath: (path) => `${own}/${path}` };
  };

let made = 0;
const open = new Map<string, Set<() => Promise<void>>>();
const published = new Map<string, Dataset>();

export const instanceFaults: readonly BrokenAdapter[] = [
  {
    that: 'creates a new store whenever it is created',
    sqlite: {},
    context: within(() => `store-${made++}`),
    fails: [
      `${OTHER} finds the whole dataset that was published`,
      `${CLOSED} the current version is the one that was published last`,
    ],
  },
  {
    that: 'uses one draft file for all publications, and no lock',
    folder: class extends FolderAdapter {
      override async lock() {}
      override unlock() {}
      override async readAll(...given: Parameters<FolderAdapter['readAll']>) {
        const content = await super.readAll(...given);
        const draft = this.path('draft');
        await writeDraft(draft, JSON.stringify(content));
        await rename(draft, this.path('draft.json'));
        return content;
      }
    },
    fails: [`${OTHER} publishes at the same moment as the first one: each succeeds or is rejected with conflict`],
  },
  {
    that: 'reads its store only when it is opened',
    sqlite: { pollMs: undefined },
    fails: [
      `${OTHER} notices what the first one publishes, calls changed(), and keeps its snapshots readable`,
      `${PROCESS} publishes: open adapters in this process notice it, and their snapshots do not change`,
    ],
  },
  {
    that: 'notices only its own publications',
    sqlite: {},
    capabilities: { publish: true, versions: true, durable: true, audit: true },
    context(context) {
      let own = false;
      setImmediate(() => {
        own = false;
      });
      return { ...context, changed: () => own && context.changed() };
    },
    fault: (adapter, context) => ({
      async publish(...given) {
        await adapter.publish!(...given);
        context.changed();
      },
    }),
    fails: [`${OTHER} notices what the first one publishes, calls changed(), and keeps its snapshots readable`],
  },
  {
    that: 'deletes the store when it is closed',
    sqlite: {},
    fault: (adapter, context) => ({
      async close() {
        await adapter.close();
        writeFileSync(context.resolvePath('catalog.json'), '{"versions":[],"moves":[]}');
      },
    }),
    fails: [`${CLOSED} the current version is the one that was published last`],
  },
  {
    that: 'loses the publications of other adapters when it publishes',
    sqlite: {},
    fault(adapter, context) {
      const known = new Set<string>();
      const file = () => context.resolvePath('catalog.json');
      const read = () => JSON.parse(existsSync(file()) ? readFileSync(file(), 'utf8') : '{"versions":[]}');
      return {
        async open() {
          for (const { version } of read().versions) known.add(version);
          await adapter.open();
        },
        async publish(dataset, options) {
          await adapter.publish!(dataset, options);
          known.add(dataset.manifest.version);
          const catalog = read();
          catalog.versions = catalog.versions.filter(({ version }: { version: string }) => known.has(version));
          writeFileSync(file(), JSON.stringify(catalog));
        },
      };
    },
    fails: [`${OTHER} lists and reads the versions that the first one publishes`],
  },
  {
    that: 'caches documents by version for all stores',
    fault(adapter) {
      return {
        snapshot() {
          const snapshot = adapter.snapshot();
          const { version } = snapshot;
          return {
            ...snapshot,
            async get(collection, key, signal) {
              const name = `${version} ${collection} ${key}`;
              const found = kept.get(name) ?? (await snapshot.get(collection, key, signal));
              if (found) kept.set(name, found);
              return found;
            },
          };
        },
      };
    },
    fails: ['two stores with the same version keep their own documents'],
  },
];

const kept = new Map<string, Readonly<Record<string, unknown>>>();

const catalogOf = (context: AdapterContext): string => context.resolvePath('catalog.json');

const early = (adapter: StorageAdapter, context: AdapterContext): Partial<StorageAdapter> => ({
  async publish(dataset, options) {
    const file = catalogOf(context);
    const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    const spoil = async function* (name: string) {
      if (before !== undefined) writeFileSync(file, '{"versions":[],"moves":[]}');
      yield* dataset.read(name);
    };
    try {
      await adapter.publish!({ manifest: dataset.manifest, read: spoil }, options);
    } finally {
      if (before !== undefined && readFileSync(file, 'utf8').length < 50) writeFileSync(file, before);
    }
  },
});

/** Days are read as noon in UTC, so the tests pass in most time zones, but not in the zone of the other process. */
const inLocalTime = (day: string): string => {
  const noon = new Date(`${day}T12:00:00Z`);
  return new Date(noon.getTime() - noon.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
};

export const processFaults: readonly BrokenAdapter[] = [
  {
    that: 'converts days to local time when it reads them',
    folder: class extends FolderAdapter {
      override contentOf(id: string) {
        if (this.contents.has(id)) return super.contentOf(id);
        const content = { ...super.contentOf(id) };
        content['readings'] =
          content['readings']?.map((row) => Object.freeze({ ...row, day: inLocalTime(String(row['day'])) })) ?? [];
        this.contents.set(id, content);
        return content;
      }
    },
    fails: [`${PROCESS} finds the whole dataset that was published, in any time zone`],
  },
  {
    that: 'notifies only adapters of its own process',
    sqlite: { pollMs: undefined },
    fault(adapter, context) {
      const folder = context.resolvePath('.');
      const others = open.get(folder) ?? new Set();
      open.set(folder, others);
      const look = async () => void (await adapter.versions!.list());
      return {
        async open() {
          others.add(look);
          await adapter.open();
        },
        async close() {
          others.delete(look);
          await adapter.close();
        },
        async publish(...given) {
          await adapter.publish!(...given);
          for (const each of others) await each();
        },
      };
    },
    fails: [`${PROCESS} publishes: open adapters in this process notice it, and their snapshots do not change`],
  },
  {
    that: 'does not lock its exclusive store',
    capabilities: { publish: true, versions: true, durable: true, exclusive: true },
    folder: FolderAdapter,
    fails: [`${PROCESS} cannot open an exclusive store until this process has closed it`],
  },
  {
    that: 'unlocks its exclusive store when an adapter that could not open it is closed',
    capabilities: { publish: true, versions: true, durable: true, exclusive: true },
    folder: class extends ExclusiveAdapter {
      override async close() {
        await super.close();
        rmSync(this.path('owner'), { force: true });
      }
    },
    fails: [
      `${OTHER} cannot open an exclusive store, and can open it when the first one is closed`,
      `${PROCESS} cannot open an exclusive store until this process has closed it`,
    ],
  },
  {
    that: 'has a store for each process',
    sqlite: {},
    context: within(() => `process-${process.pid}`),
    fails: [`${PROCESS} finds the whole dataset that was published, in any time zone`],
  },
  {
    that: 'stores data in the memory of the process',
    capabilities: { publish: true, versions: true, durable: true },
    fault(adapter, context) {
      const folder = context.resolvePath('.');
      return {
        async open() {
          await adapter.open();
          const dataset = published.get(folder);
          if (dataset) await adapter.publish!(dataset);
        },
        async publish(dataset, options) {
          await adapter.publish!(dataset, options);
          published.set(folder, dataset);
        },
      };
    },
    fails: [`${PROCESS} finds the whole dataset that was published, in any time zone`],
  },
  {
    that: 'stores times in local time',
    sqlite: {
      catalog: (catalog) => ({
        ...catalog,
        moves: catalog.moves.map(({ since, ...move }) => {
          const time = new Date(since);
          const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
          return { ...move, since: local.toISOString().slice(0, -1) };
        }),
      }),
    },
    fails: [`${PROCESS} finds the whole dataset that was published, in any time zone`],
  },
  {
    that: 'deletes the current version while it publishes',
    sqlite: {},
    fault: early,
    fails: [
      `${OTHER} finds nothing of a publication that is in progress or that failed`,
      `${PROCESS} that is killed during a publication leaves the current version`,
    ],
  },
  {
    that: 'does not open a store after an interrupted publication',
    sqlite: {},
    fault(adapter, context) {
      const lock = () => context.resolvePath('lock');
      return {
        async open() {
          if (existsSync(lock()) && readFileSync(lock(), 'utf8') !== String(process.pid)) {
            throw new StorageError('unavailable', 'Another process is writing to the store.');
          }
          await adapter.open();
        },
        async publish(...given) {
          writeFileSync(lock(), String(process.pid));
          await adapter.publish!(...given).finally(() => writeFileSync(lock(), String(process.ppid)));
          writeFileSync(lock(), '');
        },
      };
    },
    fails: [`${PROCESS} that is killed during a publication leaves the current version`],
  },
];

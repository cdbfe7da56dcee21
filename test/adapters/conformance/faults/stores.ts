/** Faults between adapters over one store, in one process and in several. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { AdapterContext, Dataset, StorageAdapter } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import type { BrokenAdapter } from './breaking.js';

const OTHER = 'another adapter over the same store';
const PROCESS = 'an adapter in another process, over the same store';

/** Paths in a folder of the store that this names. */
const within =
  (folder: () => string) =>
  (context: AdapterContext): AdapterContext => {
    const own = context.resolvePath(folder());
    mkdirSync(own, { recursive: true });
    return { ...context, resolvePath: (path) => `${own}/${path}` };
  };

let made = 0;
/** Those that are open in this process, by the folder of their store. */
const open = new Map<string, Set<() => Promise<void>>>();
/** What was published in this process, by the folder of its store. */
const published = new Map<string, Dataset>();

export const instanceFaults: readonly BrokenAdapter[] = [
  {
    that: 'has a store of its own each time that it is made',
    sqlite: {},
    context: within(() => `store-${made++}`),
    fails: [
      `${OTHER} finds what was published, the whole of it`,
      `${OTHER} finds what was published after every adapter has been closed`,
    ],
  },
  {
    that: 'looks at its store when it is opened, and never again',
    sqlite: { pollMs: undefined },
    fails: [
      `${OTHER} notices what the first one publishes, calls changed(), and keeps what it holds`,
      `${PROCESS} publishes, and is noticed here by all who are open, what they hold staying as it is`,
    ],
  },
  {
    that: 'tells of its own publications alone',
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
    fails: [`${OTHER} notices what the first one publishes, calls changed(), and keeps what it holds`],
  },
  {
    that: 'takes the store away when it is closed',
    sqlite: {},
    fault: (adapter, context) => ({
      async close() {
        await adapter.close();
        writeFileSync(context.resolvePath('catalog.json'), '{"versions":[],"moves":[]}');
      },
    }),
    fails: [`${OTHER} finds what was published after every adapter has been closed`],
  },
  {
    that: 'forgets what another one has published when it publishes',
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
    fails: [`${OTHER} publishes after the first one, which notices it`],
  },
  {
    that: 'keeps what it has read by version, whatever the store',
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
    fails: ['two stores that hold the same version keep their own documents'],
  },
];

const kept = new Map<string, Readonly<Record<string, unknown>>>();

const catalogOf = (context: AdapterContext): string => context.resolvePath('catalog.json');

/** Publishes at once what cannot be read whole yet, and takes it back where it fails. */
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

export const processFaults: readonly BrokenAdapter[] = [
  {
    that: 'tells the adapters of its own process alone',
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
    fails: [`${PROCESS} publishes, and is noticed here by all who are open, what they hold staying as it is`],
  },
  {
    that: 'keeps a store for each process',
    sqlite: {},
    context: within(() => `process-${process.pid}`),
    fails: [`${PROCESS} finds what was published, the whole of it, whatever its time zone`],
  },
  {
    that: 'has its store in the memory of the process',
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
    fails: [`${PROCESS} finds what was published, the whole of it, whatever its time zone`],
  },
  {
    that: 'keeps times as they are shown where it runs',
    sqlite: {
      catalog: (catalog) => ({
        ...catalog,
        moves: catalog.moves.map(({ version, since }) => {
          const time = new Date(since);
          const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
          return { version, since: local.toISOString().slice(0, -1) };
        }),
      }),
    },
    fails: [`${PROCESS} finds what was published, the whole of it, whatever its time zone`],
  },
  {
    that: 'takes away what is current while it publishes',
    sqlite: {},
    fault: early,
    fails: [
      `${OTHER} sees nothing of a publication that is under way, or that failed`,
      `${PROCESS} that is killed while it publishes leaves what was current`,
    ],
  },
  {
    that: 'opens no store that somebody was writing to',
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
    fails: [`${PROCESS} that is killed while it publishes leaves what was current`],
  },
];

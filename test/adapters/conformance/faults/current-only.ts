import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Document, Manifest } from '../../../../core/contracts/dataset.js';
import type { Capabilities, Dataset, PublishOptions, Snapshot } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import type { Catalog, Content, FolderAdapter, Move } from '../folder-adapter.js';
import { CurrentAdapter } from '../right-adapters.js';
import type { BrokenAdapter } from './breaking.js';

const SEQUENCES = 'any sequence of publications, activations, deletions and reads has the same result as the model';
const REOPENED =
  'after every adapter was closed the time of the current version is unchanged, even if it came from the clock';

const WITHOUT_VERSIONS: Capabilities = {
  publish: true,
  versions: false,
  durable: true,
  follows: { withinMs: 500, pollMs: 20 },
};

const broken = (that: string, folder: typeof FolderAdapter, fails: readonly string[] = [SEQUENCES]): BrokenAdapter => ({
  that: `stores only the current version, and ${that}`,
  capabilities: WITHOUT_VERSIONS,
  folder,
  fails,
});

/** Returns a catalog whose times are the times of creation. */
const created = ({ versions, moves }: Catalog): Catalog => ({
  versions,
  moves: moves.map((move) => ({ ...move, since: new Date(versions.at(-1)!.manifest.created).toISOString() })),
});

/** Bugs of adapters without the capability `versions`. */
export const currentBugs: readonly BrokenAdapter[] = [
  broken(
    'shows its time of creation after reopening',
    class extends CurrentAdapter {
      #isOpen = false;
      override load(catalog: Catalog) {
        super.load(this.#isOpen ? catalog : created(catalog));
        this.#isOpen = true;
      }
      override save(catalog: Catalog) {
        this.#isOpen = true;
        super.save(catalog);
      }
    },
    [REOPENED, SEQUENCES],
  ),
  broken(
    'shows the time of creation of what other adapters publish',
    class extends CurrentAdapter {
      #isOwn = false;
      override load(catalog: Catalog) {
        super.load(this.#isOwn ? catalog : created(catalog));
      }
      override save(catalog: Catalog) {
        this.#isOwn = true;
        super.save(catalog);
        this.#isOwn = false;
      }
    },
  ),
  broken(
    'compares a dataset with the time of creation of the version before',
    class extends CurrentAdapter {
      override lastMove() {
        const last = this.catalog.versions.at(-1);
        return last && new Date(last.manifest.created);
      }
    },
  ),
  broken(
    'ends snapshots at the second publication after them',
    class extends CurrentAdapter {
      #count = 0;
      override load(catalog: Catalog) {
        this.#count++;
        super.load(catalog);
      }
      override hold(move: Move) {
        const [snapshot, start] = [super.hold(move), this.#count];
        const find: Snapshot['find'] = (...query) => {
          if (this.#count > start + 1) throw new StorageError('unavailable', 'The version was deleted.');
          return snapshot!.find(...query);
        };
        return snapshot && { ...snapshot, find };
      }
    },
  ),
  broken(
    'publishes a second time what it published before another adapter',
    class extends CurrentAdapter {
      #last: Content | undefined;
      override commit(manifest: Manifest, content: Content) {
        const isSmall = content['items']!.length === 0;
        super.commit(manifest, isSmall && this.#last ? this.#last : content);
        this.#last = content;
      }
    },
  ),
  broken(
    'continues a killed publication when the same version is published again',
    class extends CurrentAdapter {
      override async readAll(dataset: Dataset, options: PublishOptions) {
        const draft = this.path(`draft-${encodeURIComponent(dataset.manifest.version)}`);
        const found = existsSync(draft) ? (JSON.parse(readFileSync(draft, 'utf8')) as readonly Document[]) : [];
        const read = async function* (name: string) {
          const read: Document[] = [];
          for await (const batch of dataset.read(name)) {
            for (const document of batch) read.push(document);
            if (name === 'items') writeFileSync(draft, JSON.stringify(read));
            yield batch;
          }
        };
        try {
          const content = await super.readAll({ ...dataset, read }, options);
          if (!content['items']) return content;
          const ids = new Set(content['items'].map(({ id }) => id));
          return { ...content, items: [...found.filter(({ id }) => !ids.has(id)), ...content['items']] };
        } finally {
          rmSync(draft, { force: true });
        }
      }
    },
  ),
  broken(
    'resets its time when it publishes the same version again',
    class extends CurrentAdapter {
      override async publish(dataset: Dataset, options?: PublishOptions) {
        this.look();
        const last = this.catalog.versions.at(-1);
        if (last?.version !== dataset.manifest.version) return super.publish(dataset, options);
        const since = new Date(this.context.clock.now()).toISOString();
        const content = await this.readAll(dataset, {});
        if (JSON.stringify(content) !== JSON.stringify(this.contentOf(last.id))) return this.onTaken(dataset);
        this.save({ versions: [last], moves: [{ id: last.id, version: last.version, since }] });
      }
    },
  ),
];

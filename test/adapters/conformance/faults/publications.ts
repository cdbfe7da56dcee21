import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Document, Manifest } from '../../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions } from '../../../../core/contracts/storage.js';
import { StorageError } from '../../../../core/errors.js';
import { type Content, conflict, FolderAdapter } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

type Publishing = Parameters<FolderAdapter['publish']>;

const leftovers = new Map<string, Document[]>();
const prunedIds = new Map<string, string>();

const isFailure = (error: unknown, ...codes: string[]): boolean =>
  error instanceof StorageError && codes.includes(error.code);

/** Runs `act` before each call to `method` during a publication. If `act` throws, the call fails. */
const during = (method: 'ping' | 'list' | 'prune' | 'activate' | 'asOf', act: () => void) =>
  class extends FolderAdapter {
    constructor(...given: ConstructorParameters<typeof FolderAdapter>) {
      super(...given);
      const call = this[method].bind(this) as (...args: unknown[]) => Promise<unknown>;
      Object.assign(this, {
        [method]: async (...args: unknown[]) => {
          if (this.publishing && !this.closed) act();
          return call(...args);
        },
      });
    }
  };

class Awaiting extends FolderAdapter {
  protected ending: Promise<unknown> = Promise.resolve();
  override publish(...given: Publishing) {
    const publication = super.publish(...given);
    if (this.publishing) this.ending = publication.catch(() => undefined);
    return publication;
  }
}

const busy = () => {
  throw new StorageError('unavailable', 'A publication is in progress.');
};

export const interruptedBugs: readonly BrokenAdapter[] = [
  {
    that: 'stays locked after a process was killed during a publication',
    fails: [
      'an adapter in another process, over the same store that is killed during a publication does not keep the store or a version locked',
    ],
    folder: class extends FolderAdapter {
      override isAlive() {
        return true;
      }
    },
  },
  {
    that: 'stays locked after an adapter was closed during a publication',
    fails: ['a publication leaves the store unlocked and no rows behind if the adapter is closed'],
    folder: class extends FolderAdapter {
      override unlock() {
        if (!this.closed) super.unlock();
      }
    },
  },
  {
    that: 'stays locked after a publication was aborted',
    fails: ['a publication leaves the store unlocked and no rows behind if its signal is aborted'],
    folder: class extends FolderAdapter {
      override async readAll(dataset: Dataset, options: PublishOptions) {
        const content = await super.readAll(dataset, options).catch((error) => {
          if (isFailure(error, 'aborted')) this.unlock = () => {};
          throw error;
        });
        return content;
      }
    },
  },
  {
    that: 'stays locked after a dataset could not be read',
    fails: ['a publication leaves the store unlocked and no rows behind if the dataset cannot be read'],
    folder: class extends FolderAdapter {
      override async publish(...given: Publishing) {
        await super.publish(...given).catch((error) => {
          if (isFailure(error, 'invalid_dataset')) this.publishing = true;
          throw error;
        });
      }
    },
  },
  {
    that: 'reads all collections at the same time and does not close them if one fails',
    fails: ['a publication closes the iterators of the dataset if the dataset cannot be read'],
    folder: class extends FolderAdapter {
      override async readAll(dataset: Dataset, options: PublishOptions) {
        const content: Content = {};
        const readOne = async (name: string) => {
          const rows: Document[] = [];
          for await (const batch of this.batchesOf(dataset, name)) {
            this.assertUsable(options.signal);
            rows.push(...batch);
          }
          content[name] = JSON.parse(JSON.stringify(rows));
        };
        await Promise.all([...this.context.collections.keys()].map(readOne));
        return content;
      }
    },
  },
  {
    that: 'stays locked after a version conflict',
    fails: ['publish(dataset) works again after a conflict of versions'],
    folder: class extends FolderAdapter {
      override async onTaken(dataset: Dataset) {
        writeFileSync(this.path('lock'), String(process.pid));
        await super.onTaken(dataset);
      }
    },
  },
  {
    that: 'publishes the rows of a failed publication with the next one',
    fails: ['a publication leaves the store unlocked and no rows behind if the dataset cannot be read'],
    folder: class extends FolderAdapter {
      override async *batchesOf(dataset: Dataset, name: string) {
        const kept = leftovers.get(this.path(name)) ?? [];
        const read: Document[] = [];
        leftovers.set(this.path(name), kept);
        for await (const batch of super.batchesOf(dataset, name)) {
          for (const document of batch) if (JSON.stringify(document).length < 200) read.push(document);
          kept.splice(0, kept.length, ...read);
          yield batch;
        }
        const seen = new Set(read.map((row) => JSON.stringify(row['id'] ?? row)));
        const extra = (this.#before.get(name) ?? []).filter((row) => !seen.has(JSON.stringify(row['id'] ?? row)));
        yield extra;
      }
      readonly #before = new Map<string, Document[]>();
      override async publish(...given: Publishing) {
        try {
          await super.publish(...given);
          this.#before.clear();
        } catch (error) {
          for (const name of this.context.collections.keys()) {
            this.#before.set(name, [...(leftovers.get(this.path(name)) ?? [])]);
          }
          throw error;
        }
      }
    },
  },
  {
    that: 'completes a publication that was aborted with the collections that it had read',
    fails: ['a publication leaves the store unlocked and no rows behind if the dataset cannot be read'],
    folder: class extends FolderAdapter {
      readonly #written = new Map<string, readonly Document[]>();
      override async *batchesOf(dataset: Dataset, name: string) {
        const kept = this.#written.get(`${dataset.manifest.version} ${name}`);
        const rows: Document[] = [];
        for await (const batch of super.batchesOf(dataset, name)) {
          rows.push(...structuredClone(batch));
          if (!kept) yield batch;
        }
        if (kept) yield kept;
        this.#written.set(`${dataset.manifest.version} ${name}`, rows);
      }
    },
  },
  {
    that: 'reserves the name of a publication that was aborted',
    fails: ['publish(dataset) works again after it was aborted, under the same version and with another signal'],
    folder: class extends FolderAdapter {
      readonly #reserved = new Set<string>();
      override isTaken(version: string) {
        return this.#reserved.has(version) || super.isTaken(version);
      }
      override async publish(...given: Publishing) {
        await super.publish(...given).catch((error) => {
          if (isFailure(error, 'aborted')) this.#reserved.add(given[0].manifest.version);
          throw error;
        });
      }
    },
  },
  {
    that: 'keeps the name of a deleted version',
    fails: ['versions may reuse the name of a deleted version for different rows'],
    folder: class extends FolderAdapter {
      override isTaken(version: string) {
        return this.catalog.moves.some((move) => move.version === version);
      }
    },
  },
  {
    that: 'reuses the rows of a deleted version when its name is published again',
    fails: ['versions may reuse the name of a deleted version for different rows'],
    folder: class extends FolderAdapter {
      override remove(...given: Parameters<FolderAdapter['remove']>) {
        for (const { id, version } of given[0]) {
          prunedIds.set(this.path(version), readFileSync(this.path(`${id}.json`), 'utf8'));
        }
        super.remove(...given);
      }
      override commit(manifest: Manifest, content: Content) {
        const old = prunedIds.get(this.path(manifest.version));
        super.commit(manifest, old ? JSON.parse(old) : content);
      }
    },
  },
  {
    that: 'returns a republished version for times of the deleted version with its name',
    fails: ['versions may reuse the name of a deleted version for different rows'],
    folder: class extends FolderAdapter {
      override newId({ version }: Manifest) {
        return `version-${version}`;
      }
      override contentOf(id: string) {
        this.contents.delete(id);
        return super.contentOf(id);
      }
    },
  },
  {
    that: 'leaves the dataset open when it is aborted',
    fails: ['a publication closes the iterators of the dataset if its signal is aborted'],
    folder: class extends FolderAdapter {
      override batchesOf(dataset: Dataset, name: string) {
        const batches = super.batchesOf(dataset, name)[Symbol.asyncIterator]();
        return { [Symbol.asyncIterator]: () => ({ next: () => batches.next() }) };
      }
    },
  },
  {
    that: 'leaves the dataset open when it is closed',
    fails: ['a publication closes the iterators of the dataset if the adapter is closed'],
    folder: class extends FolderAdapter {
      override batchesOf(dataset: Dataset, name: string) {
        const batches = super.batchesOf(dataset, name)[Symbol.asyncIterator]();
        const end = async () => {
          if (!this.closed) await batches.return?.();
          return { done: true as const, value: undefined };
        };
        return { [Symbol.asyncIterator]: () => ({ next: () => batches.next(), return: end }) };
      }
    },
  },
  {
    that: 'opens all collections before it reads them, and leaves the last ones open',
    fails: ['a publication closes the iterators of the dataset if the dataset cannot be read'],
    folder: class extends FolderAdapter {
      override async readAll(dataset: Dataset, options: PublishOptions) {
        const open = new Map<string, AsyncIterator<readonly Document[]>>();
        const first = new Map<string, IteratorResult<readonly Document[]>>();
        for (const name of this.context.collections.keys()) {
          const batches = super.batchesOf(dataset, name)[Symbol.asyncIterator]();
          open.set(name, batches);
          first.set(name, await batches.next());
        }
        return super.readAll(
          {
            manifest: dataset.manifest,
            async *read(name) {
              for (let each = first.get(name)!; !each.done; each = await open.get(name)!.next()) yield each.value;
            },
          },
          options,
        );
      }
    },
  },
  {
    that: 'resolves when it is closed during a publication, without publishing',
    fails: [
      'a publication that is closed while it is in progress is either published completely, or rejects and changes nothing',
    ],
    folder: class extends FolderAdapter {
      override async publish(...given: Publishing) {
        const { closed } = this;
        await super.publish(...given).catch((error) => {
          if (closed || !isFailure(error, 'closed')) throw error;
        });
      }
    },
  },
  {
    that: 'publishes the part that it has read when it is closed',
    fails: ['a publication leaves the store unlocked and no rows behind if the adapter is closed'],
    folder: class extends FolderAdapter {
      override async readAll(dataset: Dataset, options: PublishOptions) {
        const read = new Map<string, Document[]>();
        const kept: Dataset = {
          manifest: dataset.manifest,
          async *read(name) {
            const documents: Document[] = [];
            read.set(name, documents);
            for await (const batch of dataset.read(name)) {
              documents.push(...structuredClone(batch));
              yield batch;
            }
          },
        };
        return super.readAll(kept, options).catch((error) => {
          if (!this.closed) throw error;
          this.closed = false;
          this.commit(dataset.manifest, Object.fromEntries(read));
          this.closed = true;
          throw error;
        });
      }
    },
  },
];

export const racingBugs: readonly BrokenAdapter[] = [
  {
    that: 'rejects the second of two publishers with unavailable',
    fails: [
      'two publications at the same time by one adapter both succeed one after the other, or one is rejected with conflict',
    ],
    folder: class extends FolderAdapter {
      override async whilePublishing() {
        throw new StorageError('unavailable', 'Another publication is in progress.');
      }
    },
  },
  {
    that: 'rejects the second of two publishers with invalid_dataset',
    fails: [
      'two publications at the same time by one adapter both succeed one after the other, or one is rejected with conflict',
    ],
    folder: class extends FolderAdapter {
      override async whilePublishing() {
        throw new StorageError('invalid_dataset', 'Another publication is in progress.');
      }
    },
  },
  {
    that: 'rejects a publication with unavailable while another adapter publishes',
    fails: [
      'two publications at the same time by two adapters both succeed one after the other, or one is rejected with conflict',
    ],
    folder: class extends FolderAdapter {
      override async lock(options: PublishOptions) {
        if (existsSync(this.path('lock')) && this.isAlive(Number(readFileSync(this.path('lock'), 'utf8')))) {
          throw new StorageError('unavailable', 'The store is locked.');
        }
        await super.lock(options);
      }
    },
  },
  {
    that: 'rejects a publication with a file system error while another adapter publishes',
    fails: [
      'two publications at the same time by two adapters both succeed one after the other, or one is rejected with conflict',
    ],
    folder: class extends FolderAdapter {
      override async lock(options: PublishOptions) {
        if (existsSync(this.path('lock')) && this.isAlive(Number(readFileSync(this.path('lock'), 'utf8')))) {
          throw Object.assign(new Error('EEXIST: file already exists'), { code: 'EEXIST' });
        }
        await super.lock(options);
      }
    },
  },
  {
    that: 'drops the second of two publications and resolves',
    fails: [
      'two publications at the same time by one adapter both succeed one after the other, or one is rejected with conflict',
    ],
    folder: class extends FolderAdapter {
      override async whilePublishing() {}
    },
  },
  {
    that: 'resolves for the loser of two publishers of one version',
    fails: ['two publications at the same time by two adapters under one version: only one of them succeeds'],
    folder: class extends FolderAdapter {
      override async lock() {}
      override async onTaken(dataset: Dataset) {
        if (!this.publishing) await super.onTaken(dataset);
      }
    },
  },
  {
    that: 'overwrites the catalog that another publisher has changed',
    fails: [
      'two publications at the same time by two adapters both succeed one after the other, or one is rejected with conflict',
    ],
    folder: class extends FolderAdapter {
      override async lock() {}
      override async readAll(dataset: Dataset, options: PublishOptions) {
        const before = this.catalog;
        const content = await super.readAll(dataset, options);
        const { commit } = this;
        this.commit = (...given) => {
          this.catalog = before;
          this.commit = commit;
          commit.apply(this, given);
        };
        return content;
      }
    },
  },
  {
    that: 'mixes the rows of two publishers',
    fails: [
      'two publications at the same time by one adapter both succeed one after the other, or one is rejected with conflict',
    ],
    folder: class extends FolderAdapter {
      #buffer: Content = {};
      override async lock() {}
      override async whilePublishing(dataset: Dataset, options: PublishOptions) {
        const content = await super.readAll(dataset, options);
        Object.assign(this.#buffer, content);
        throw conflict('Another publication is in progress.');
      }
      override async readAll(dataset: Dataset, options: PublishOptions) {
        this.#buffer = {};
        for (const [name, rows] of Object.entries(await super.readAll(dataset, options))) this.#buffer[name] ??= rows;
        return this.#buffer;
      }
    },
  },
  {
    that: 'publishes two versions with the same name when two adapters publish at once',
    fails: ['two publications at the same time by two adapters under one version: only one of them succeeds'],
    folder: class extends FolderAdapter {
      override async lock() {}
      override isTaken(version: string) {
        return !this.publishing && super.isTaken(version);
      }
    },
  },
  {
    that: 'reports a used version name as unknown_version',
    fails: [
      'publish(dataset) rejects with conflict for different content under an existing version, and changes nothing',
    ],
    folder: class extends FolderAdapter {
      override async onTaken({ manifest }: Dataset) {
        throw new StorageError('unknown_version', `The version "${manifest.version}" exists already.`);
      }
    },
  },
  {
    that: 'fails all publications after two publishers have raced',
    fails: [
      'two publications at the same time by one adapter do not prevent later publications, including that of the rejected version',
    ],
    folder: class extends FolderAdapter {
      override async whilePublishing(...given: Parameters<FolderAdapter['whilePublishing']>) {
        this.lock = async () => {
          throw conflict('Another publication is in progress.');
        };
        await super.whilePublishing(...given);
      }
    },
  },
  {
    that: 'changes the publication time when the same content is published again',
    fails: [
      'a publication with the content of an existing version changes nothing, and resolves or rejects with conflict',
    ],
    folder: class extends FolderAdapter {
      override async onTaken({ manifest }: Dataset) {
        const { versions, moves } = this.catalog;
        const stored = versions.find(({ version }) => version === manifest.version)!;
        this.save({
          versions,
          moves: [...moves, { id: stored.id, version: stored.version, since: this.activationTime() }],
        });
        throw conflict('exists');
      }
    },
  },
  {
    that: 'lists a version twice when the same content is published again',
    fails: [
      'a publication with the content of an existing version changes nothing, and resolves or rejects with conflict',
    ],
    folder: class extends FolderAdapter {
      override isTaken(version: string) {
        return super.isTaken(version) && this.catalog.versions.at(-1)?.version !== version;
      }
      override commit(manifest: Manifest, content: Content) {
        const last = this.catalog.versions.at(-1);
        const isSame =
          last?.version === manifest.version && JSON.stringify(this.contentOf(last.id)) === JSON.stringify(content);
        if (last?.version === manifest.version && !isSame) throw conflict('exists');
        super.commit(manifest, content);
      }
    },
  },
];

export const meanwhileBugs: readonly BrokenAdapter[] = [
  {
    that: 'activates a version that is deleted in the meantime',
    fails: ['versions prune() keeps a version that is activated at the same time'],
    folder: class extends FolderAdapter {
      override async activate(version: string) {
        this.assertUsable();
        const target = this.catalog.versions.find((each) => each.version === version);
        if (!target) throw new StorageError('unknown_version', `The version "${version}" does not exist.`);
        await delay(20);
        const { versions, moves } = this.catalog;
        this.save({ versions, moves: [...moves, { id: target.id, version, since: this.activationTime() }] });
      }
    },
  },
  {
    that: 'rejects pings during a publication',
    fails: ['during a publication ping() resolves'],
    folder: during('ping', busy),
  },
  {
    that: 'cannot list versions during a publication',
    fails: ['during a publication list() returns only the published versions'],
    folder: during('list', busy),
  },
  {
    that: 'cannot read an earlier version during a publication',
    fails: ['during a publication asOf() returns the version of the time'],
    folder: during('asOf', busy),
  },
  {
    that: 'rejects activations during a publication with unavailable',
    fails: [
      'during a publication activate() and the publication take effect one after the other, or one is rejected with conflict',
    ],
    folder: during('activate', busy),
  },
  {
    that: 'rejects prune() during a publication with a driver error',
    fails: ['during a publication prune() deletes nothing of the publication, waits, or rejects with conflict'],
    folder: during('prune', () => {
      throw new Error('SQLITE_BUSY: database is locked');
    }),
  },
  {
    that: 'lists the version of a publication in progress',
    fails: ['during a publication list() returns only the published versions'],
    folder: class extends FolderAdapter {
      #draft: Manifest | undefined;
      override async readAll(dataset: Dataset, options: PublishOptions) {
        this.#draft = dataset.manifest;
        return super.readAll(dataset, options).finally(() => {
          this.#draft = undefined;
        });
      }
      override async list() {
        const listed = await super.list();
        if (!this.#draft) return listed;
        const { version, created } = this.#draft;
        return [{ version, publishedAt: new Date(created), current: false, held: false }, ...listed];
      }
    },
  },
  {
    that: 'loses the publication in progress when versions are pruned',
    fails: ['during a publication prune() deletes nothing of the publication, waits, or rejects with conflict'],
    folder: class extends FolderAdapter {
      #swept = false;
      override async prune(keep: number) {
        this.#swept = this.publishing;
        return super.prune(keep);
      }
      override commit(manifest: Manifest, content: Content) {
        super.commit(manifest, this.#swept ? {} : content);
        this.#swept = false;
      }
    },
  },
  {
    that: 'loses an activation that is made during a publication',
    fails: [
      'during a publication activate() and the publication take effect one after the other, or one is rejected with conflict',
    ],
    folder: class extends FolderAdapter {
      override async readAll(dataset: Dataset, options: PublishOptions) {
        const { moves } = this.catalog;
        const content = await super.readAll(dataset, options);
        this.look();
        if (this.catalog.moves.length !== moves.length) this.catalog = { versions: this.catalog.versions, moves };
        return content;
      }
    },
  },
  {
    that: 'does not make the version current if another one was activated during the publication',
    fails: [
      'during a publication activate() and the publication take effect one after the other, or one is rejected with conflict',
    ],
    folder: class extends FolderAdapter {
      #activated = false;
      override async activate(version: string) {
        this.#activated = this.publishing;
        await super.activate(version);
      }
      override commit(...given: Parameters<FolderAdapter['commit']>) {
        const before = this.catalog.moves;
        super.commit(...given);
        if (this.#activated) this.save({ versions: this.catalog.versions, moves: before });
        this.#activated = false;
      }
    },
  },
  {
    that: 'delays pings until a publication has ended',
    fails: ['during a publication ping() resolves'],
    folder: class extends Awaiting {
      override async ping(signal?: AbortSignal) {
        await super.ping(signal);
        await this.ending;
      }
    },
  },
  {
    that: 'delays reads until a publication has ended',
    fails: ['during a publication reads return the current version'],
    folder: class extends Awaiting {
      override async *findRows(...given: Parameters<FolderAdapter['findRows']>) {
        await this.ending;
        yield* super.findRows(...given);
      }
    },
  },
  {
    that: 'reports progress after the publication has settled',
    fails: [
      'a publication calls onProgress with growing numbers until it settles, and neither onWait nor onRepair without a reason',
    ],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        await super.publish(dataset, options);
        setTimeout(() => options.onProgress?.({ collection: 'items', written: 0, total: undefined }), 5);
      }
    },
  },
  {
    that: 'reports the progress of each batch as if it were the whole',
    fails: ['publish(dataset) reports its progress up to the last row of each collection'],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        const last = new Map<string, number>();
        await super.publish(dataset, {
          ...options,
          onProgress: ({ collection, written, total }) => {
            options.onProgress?.({ collection, written: written - (last.get(collection) ?? 0), total });
            last.set(collection, written);
          },
        });
      }
    },
  },
  {
    that: 'calls onWait for every publication',
    fails: [
      'a publication calls onProgress with growing numbers until it settles, and neither onWait nor onRepair without a reason',
    ],
    folder: class extends FolderAdapter {
      override async lock(options: PublishOptions) {
        options.onWait?.('');
        await super.lock(options);
      }
    },
  },
  {
    that: 'calls onRepair for every publication',
    fails: [
      'a publication calls onProgress with growing numbers until it settles, and neither onWait nor onRepair without a reason',
    ],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        await super.publish(dataset, options);
        options.onRepair?.('The dataset was replaced.');
      }
    },
  },
  {
    that: 'publishes before it has read the last collection',
    fails: ['publish(dataset) makes a dataset visible only as a whole'],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        const names = [...this.context.collections.keys()];
        const at = this.context.collections.size - 1;
        const seen: Content = {};
        const adapter = this;
        let isEarly = false;
        await super
          .publish(
            {
              manifest: dataset.manifest,
              async *read(name) {
                const rows: Document[] = [];
                for await (const batch of dataset.read(name)) {
                  rows.push(...structuredClone(batch));
                  yield batch;
                }
                seen[name] = rows;
                if (names.indexOf(name) === at - 1) {
                  adapter.commit(dataset.manifest, seen);
                  isEarly = true;
                }
              },
            },
            options,
          )
          .catch((error) => {
            if (isEarly && isFailure(error, 'conflict')) return;
            if (isEarly) rmSync(adapter.path('nothing'), { force: true });
            throw error;
          });
      }
    },
  },
];

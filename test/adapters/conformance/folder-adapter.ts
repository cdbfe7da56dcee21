/**
 * A small adapter with every capability of a durable store. Each version is a JSON file, and `catalog.json` lists the
 * versions. Tests subclass the adapter to break single methods or to vary correct behaviour.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { answerOf } from '../../../adapters/conformance/reference.js';
import type { Document, Manifest } from '../../../core/contracts/dataset.js';
import type {
  AdapterContext,
  Dataset,
  PublishOptions,
  Query,
  Scalar,
  Snapshot,
  StorageAdapter,
} from '../../../core/contracts/storage.js';
import { momentAfter, publicationTime, readable } from '../../../core/data/publishing.js';
import { StorageError } from '../../../core/errors.js';

export interface Stored {
  readonly id: string;
  readonly version: string;
  readonly publishedAt: string;
  readonly manifest: Manifest;
}

export interface Move {
  readonly id: string;
  readonly version: string;
  readonly since: string;
}

export interface Catalog {
  readonly versions: readonly Stored[];
  /** The oldest activation comes first. */
  readonly moves: readonly Move[];
}

export type Content = Record<string, readonly Document[]>;

export const conflict = (message: string): StorageError => new StorageError('conflict', message);

/** Readers share parsed documents, so the documents are frozen. */
const freeze = (_name: string, value: unknown): unknown => Object.freeze(value);

export class FolderAdapter implements StorageAdapter {
  catalog: Catalog = { versions: [], moves: [] };
  closed = false;
  publishing = false;
  stamp: string | undefined;
  timer: NodeJS.Timeout | undefined;
  pollMs = 20;
  readonly contents = new Map<string, Content>();
  readonly byKey = new WeakMap<readonly Document[], Map<string, Document>>();
  readonly holds = new Map<string, number>();

  constructor(readonly context: AdapterContext) {}

  async open(): Promise<void> {
    this.assertUsable();
    this.look();
    this.timer ??= this.startTimer();
  }

  startTimer(): NodeJS.Timeout | undefined {
    return setInterval(() => this.look(), this.pollMs).unref();
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.timer);
  }

  async ping(signal?: AbortSignal): Promise<void> {
    this.assertUsable(signal);
  }

  snapshot(): Snapshot {
    this.assertUsable();
    const move = this.catalog.moves.at(-1);
    if (!move) throw new StorageError('unavailable', 'Nothing has been published yet.');
    return this.hold(move)!;
  }

  async publish(dataset: Dataset, options: PublishOptions = {}): Promise<void> {
    const { manifest } = dataset;
    this.assertUsable(options.signal);
    this.look();
    if (this.publishing) return this.whilePublishing(dataset, options);
    if (this.isTaken(manifest.version)) return this.onTaken(dataset);
    this.publishing = true;
    try {
      await this.lock(options);
      try {
        const content = await this.readAll(dataset, options);
        this.assertUsable(options.signal);
        this.look();
        if (this.isTaken(manifest.version)) return await this.onTaken(dataset);
        this.commit(manifest, content);
      } finally {
        this.unlock();
      }
    } finally {
      this.publishing = false;
    }
  }

  async whilePublishing(_dataset: Dataset, _options: PublishOptions): Promise<void> {
    throw conflict('Another publication is in progress.');
  }

  isTaken(version: string): boolean {
    return this.catalog.versions.some((each) => each.version === version);
  }

  async onTaken({ manifest }: Dataset): Promise<void> {
    throw conflict(`The version "${manifest.version}" exists already.`);
  }

  async lock(_options: PublishOptions): Promise<void> {
    const file = this.path('lock');
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
    } catch {
      if (this.isAlive(Number(readFileSync(file, 'utf8')))) throw conflict('Another adapter is publishing.');
      writeFileSync(file, String(process.pid));
    }
  }

  isAlive(pid: number): boolean {
    try {
      // A process that was killed before it wrote its id leaves an empty lock file.
      return pid > 0 && process.kill(pid, 0);
    } catch {
      return false;
    }
  }

  unlock(): void {
    rmSync(this.path('lock'), { force: true });
  }

  async readAll(dataset: Dataset, options: PublishOptions): Promise<Content> {
    const content: Content = {};
    for (const name of this.context.collections.keys()) {
      const rows: string[] = [];
      for await (const batch of this.batchesOf(dataset, name)) {
        this.assertUsable(options.signal);
        for (const document of batch) rows.push(this.encode(document, name));
        options.onProgress?.({ collection: name, written: rows.length, total: undefined });
      }
      content[name] = JSON.parse(`[${rows}]`, freeze);
    }
    return content;
  }

  batchesOf(dataset: Dataset, name: string): AsyncIterable<readonly Document[]> {
    return readable(() => dataset.read(name));
  }

  encode(document: Document, _name: string): string {
    return JSON.stringify(document);
  }

  commit(manifest: Manifest, content: Content): void {
    const id = this.newId(manifest);
    writeFileSync(this.path(`${id}.json`), JSON.stringify(content));
    const publishedAt = this.timeOf(manifest);
    const { versions, moves } = this.catalog;
    const { version } = manifest;
    this.save({
      versions: [...versions, { id, version, publishedAt, manifest }],
      moves: [...moves, { id, version, since: publishedAt }],
    });
  }

  newId(_manifest: Manifest): string {
    return randomUUID();
  }

  lastMove(): Date | undefined {
    const last = this.catalog.moves.at(-1);
    return last && new Date(last.since);
  }

  timeOf(manifest: Manifest): string {
    return publicationTime(manifest, this.lastMove(), this.context.clock).toISOString();
  }

  activationTime(): string {
    return momentAfter(this.lastMove()!, this.context.clock).toISOString();
  }

  save(catalog: Catalog): void {
    const draft = this.path(randomUUID());
    writeFileSync(draft, JSON.stringify(catalog));
    renameSync(draft, this.path('catalog.json'));
    this.look();
  }

  readonly versions = {
    list: () => this.list(),
    activate: (version: string) => this.activate(version),
    prune: (keep: number) => this.prune(keep),
    asOf: (time: Date) => this.asOf(time),
  };

  async list() {
    this.assertUsable();
    this.look();
    const current = this.catalog.moves.at(-1)?.id;
    return this.catalog.versions.toReversed().map(({ id, version, publishedAt }) => ({
      version,
      publishedAt: new Date(publishedAt),
      current: id === current,
      held: this.isHeld(id),
    }));
  }

  async activate(version: string): Promise<void> {
    this.assertUsable();
    this.look();
    const { versions, moves } = this.catalog;
    const target = versions.find((each) => each.version === version);
    if (!target) throw new StorageError('unknown_version', `The version "${version}" does not exist.`);
    if (target.id === moves.at(-1)?.id) return;
    this.save({ versions, moves: [...moves, { id: target.id, version, since: this.activationTime() }] });
  }

  async prune(keep: number): Promise<readonly string[]> {
    this.assertUsable();
    this.look();
    const pruned = this.toPrune(keep);
    if (pruned.length > 0) this.remove(pruned);
    return pruned.map(({ version }) => version);
  }

  toPrune(keep: number): readonly Stored[] {
    const { versions, moves } = this.catalog;
    const older = versions.slice(0, Math.max(0, versions.length - keep));
    return older.filter(({ id }) => id !== moves.at(-1)?.id && !this.isHeld(id));
  }

  remove(pruned: readonly Stored[]): void {
    const { versions, moves } = this.catalog;
    this.save({ versions: versions.filter((each) => !pruned.includes(each)), moves });
    for (const { id } of pruned) rmSync(this.path(`${id}.json`), { force: true });
  }

  async asOf(time: Date): Promise<Snapshot | undefined> {
    this.assertUsable();
    this.look();
    const move = this.moveAt(time);
    return move && this.hold(move);
  }

  moveAt(time: Date): Move | undefined {
    return this.catalog.moves.findLast(({ since }) => new Date(since) <= time);
  }

  look(): void {
    const found = statSync(this.path('catalog.json'), { throwIfNoEntry: false });
    const stamp = found && `${found.ino} ${found.mtimeMs}`;
    if (this.closed || stamp === undefined || stamp === this.stamp) return;
    this.stamp = stamp;
    const before = this.catalog.moves.at(-1);
    this.load(JSON.parse(readFileSync(this.path('catalog.json'), 'utf8')));
    if (this.catalog.moves.at(-1)?.id !== before?.id) this.onMove();
  }

  load(catalog: Catalog): void {
    this.catalog = catalog;
  }

  onMove(): void {
    this.context.changed();
  }

  isHeld(id: string): boolean {
    return (this.holds.get(id) ?? 0) > 0;
  }

  /** Returns the number of snapshots that have not been released. */
  heldSnapshots(): number {
    return [...this.holds.values()].reduce((sum, count) => sum + count, 0);
  }

  contentOf(id: string): Content {
    const known = this.contents.get(id) ?? JSON.parse(readFileSync(this.path(`${id}.json`), 'utf8'), freeze);
    this.contents.set(id, known);
    return known;
  }

  hold({ id, since }: Move): Snapshot | undefined {
    const stored = this.catalog.versions.find((each) => each.id === id);
    if (!stored) return undefined;
    const content = this.contentOf(id);
    this.holds.set(id, (this.holds.get(id) ?? 0) + 1);
    let released = false;
    return {
      version: stored.version,
      publishedAt: new Date(since),
      manifest: stored.manifest,
      get: async (name, key, signal) => this.getRow(this.rowsOf(content, name, signal), name, key),
      find: (name, query, signal) => this.findRows(() => this.rowsOf(content, name, signal), query, signal),
      release: () => {
        if (!released) this.holds.set(id, this.holds.get(id)! - 1);
        released = true;
      },
    };
  }

  rowsOf(content: Content, name: string, signal?: AbortSignal): readonly Document[] {
    this.assertUsable(signal);
    if (!this.context.collections.has(name)) {
      throw new StorageError('unknown_collection', `There is no collection "${name}".`);
    }
    return content[name] ?? [];
  }

  keyText(key: readonly Scalar[]): string {
    return JSON.stringify(key);
  }

  getRow(rows: readonly Document[], name: string, key: readonly Scalar[]): Document | undefined {
    const fields = this.context.collections.get(name)!.key;
    let index = this.byKey.get(rows);
    if (!index) {
      index = new Map(rows.map((row) => [this.keyText(fields.map((field) => row[field] as Scalar)), row]));
      this.byKey.set(rows, index);
    }
    return index.get(this.keyText(key));
  }

  async *findRows(rowsOf: () => readonly Document[], query: Query, _signal?: AbortSignal) {
    const found = this.matching(rowsOf(), query);
    for (let start = 0; start < found.length; start += 1000) {
      rowsOf();
      yield found.slice(start, start + 1000);
    }
  }

  matching(rows: readonly Document[], query: Query): readonly Document[] {
    return answerOf(rows, query);
  }

  path(name: string): string {
    return this.context.resolvePath(name);
  }

  assertUsable(signal?: AbortSignal): void {
    if (this.closed) throw new StorageError('closed', 'The adapter has been closed.');
    if (signal?.aborted) throw new StorageError('aborted', 'The caller has aborted the read.');
  }
}

/**
 * Keeps a read transaction open for each version, so that the version remains readable even if another process deletes
 * it. Open transactions keep SQLite from reusing its write-ahead log, so each poll renews them.
 */
import { type Collection, publishing } from 'metro-forecast-api/adapter';
import { hasVersion, readVersion, type StoredVersion } from './catalog.js';
import { ReadConnection } from './connection.js';
import { LongReads } from './long-reads.js';

export interface Reader {
  readonly stored: StoredVersion;
  readonly connection: ReadConnection;
  readonly totals: LongReads;
  readonly searches: LongReads;
  readonly declared: ReadonlyMap<string, Collection>;
  holds: number;
}

export class Readers {
  readonly #path: string;
  readonly #collections: ReadonlyMap<string, Collection>;
  readonly #readers = new Map<number, Reader>();
  readonly #assertSameFile: () => void;
  /** Versions that `open` treats as deleted. */
  readonly deleting = new Set<number>();
  /**
   * Searches have a separate queue, because they are short and must not wait for totals. Long reads have no
   * transaction, so they fail if the version has been deleted.
   */
  readonly #longReads: { readonly totals: LongReads; readonly searches: LongReads };

  /**
   * @param assertSameFile throws if the database file was replaced, so that a new connection would read another file
   * than the earlier connections
   */
  constructor(path: string, collections: ReadonlyMap<string, Collection>, assertSameFile: () => void) {
    this.#path = path;
    this.#collections = collections;
    this.#assertSameFile = assertSameFile;
    this.#longReads = { totals: new LongReads(path, assertSameFile), searches: new LongReads(path, assertSameFile) };
  }

  /**
   * @returns undefined if the version was deleted
   * @throws StorageError `invalid_dataset` if the version lacks a declared collection or order
   */
  open(id: number): Reader | undefined {
    if (this.deleting.has(id)) return undefined;
    const known = this.#readers.get(id);
    if (known) return known;
    const connection = ReadConnection.open(this.#path);
    try {
      this.#assertSameFile();
      connection.pin();
      const stored = readVersion(connection, id);
      if (!stored) {
        connection.close();
        return undefined;
      }
      publishing.assertComplete(stored.version, stored.collections, this.#collections, { search: true });
      const reader = { stored, connection, ...this.#longReads, declared: this.#collections, holds: 0 };
      this.#readers.set(id, reader);
      return reader;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  isHeld(id: number): boolean {
    return (this.#readers.get(id)?.holds ?? 0) > 0;
  }

  renew(catalog: ReadConnection, current: number | undefined): void {
    for (const [id, { connection, holds }] of this.#readers) {
      if (id !== current && holds === 0) {
        this.#readers.delete(id);
        connection.close();
      } else if (hasVersion(catalog, id)) connection.pin();
      // A deleted version is readable only in its old transaction, so that transaction is not renewed.
    }
  }

  async close(): Promise<void> {
    for (const { connection } of this.#readers.values()) connection.close();
    this.#readers.clear();
    await Promise.all([this.#longReads.totals.close(), this.#longReads.searches.close()]);
  }
}

/** A storage adapter for SQLite. Each version is a new file that replaces the previous file. */
/** @import { AdapterModule, Document, Manifest, Query } from 'metro-forecast-api/adapter' */
import { randomUUID } from 'node:crypto';
import { linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { publishing, StorageError } from 'metro-forecast-api/adapter';
import sqlite from 'node-sqlite3-wasm';

/** @typedef {{ db: sqlite.Database, file: number, holds: number, publishedAt: Date, manifest: Manifest }} Version */

// SQLite compares UTF-8 bytes one by one, which sorts strings by code point and allows NUL.
const stored = (/** @type {any} */ value) => (typeof value === 'string' ? Buffer.from(value) : value);
// Core has checked that names match [a-z0-9_]*. Without quotes, SQLite could treat them as keywords.
const quoted = (/** @type {readonly string[]} */ names) => names.map((name) => `"${name}"`);

/** @type {AdapterModule<{ path: string }>} */
export default {
  kind: 'adapter',
  name: 'sqlite',
  version: '1.0.0',
  capabilities: { publish: true, versions: false, durable: true, follows: true },
  options: { type: 'object', required: ['path'], properties: { path: { type: 'string' } } },
  create({ path }, context) {
    const file = context.resolvePath(path);
    const open = /** @type {Set<Version>} */ (new Set());
    let current = /** @type {Version | undefined} */ (undefined);
    let [closed, isPublishing] = [false, false];
    const assertUsable = (/** @type {AbortSignal | undefined} */ signal = undefined) => {
      if (closed) throw new StorageError('closed', 'The adapter has been closed.');
      if (signal?.aborted) throw new StorageError('aborted', 'The caller aborted the operation.');
    };
    const end = (/** @type {Version} */ version) => open.delete(version) && version.db.close();
    /** Opens the current file again if this or another process has replaced it. */
    const look = () => {
      const [found, link] = [statSync(file, { throwIfNoEntry: false })?.ino, `${file}.${randomUUID()}`];
      if (closed || found === undefined || found === current?.file) return;
      linkSync(file, link); // The driver locks file names. A new name avoids a lock left by a killed process.
      const [db, previous] = [new sqlite.Database(link, { readOnly: true }), current];
      rmSync(link);
      const { manifest, time } = /** @type {any} */ (db.get('SELECT * FROM "the dataset"'));
      current = { db, file: found, holds: 0, publishedAt: new Date(time), manifest: JSON.parse(manifest) };
      open.add(current);
      if (previous?.holds === 0) end(previous);
      context.changed();
    };
    const timer = setInterval(look, 500).unref();
    /** @type {(version: Version, collection: string, query: Query, signal?: AbortSignal) => Document[]} */
    const read = ({ db }, name, { order, equal = {}, range, descending, after, limit = -1 }, signal) => {
      assertUsable(signal);
      if (!context.collections.has(name)) throw new StorageError('unknown_collection', `There is no "${name}".`);
      const conditions = ['TRUE', ...quoted(Object.keys(equal)).map((field) => `${field} = ?`)];
      const values = Object.values(equal);
      if (range?.from !== undefined) values.push(range.from) && conditions.push(`"${range.field}" >= ?`);
      if (range?.to !== undefined) values.push(range.to) && conditions.push(`"${range.field}" <= ?`);
      const [free, than] = [quoted(order.slice(Object.keys(equal).length)), descending ? '<' : '>'];
      if (after) values.push(...after) && conditions.push(`(${free}) ${than} (${free.map(() => '?')})`);
      const by = quoted(order).map((field) => (descending ? `${field} DESC` : field));
      const sql = `SELECT "its json" FROM "${name}" WHERE ${conditions.join(' AND ')} ORDER BY ${by} LIMIT ${limit}`;
      return db.all(sql, values.map(stored)).map((row) => JSON.parse(String(row['its json'])));
    };
    return {
      async open() {
        assertUsable();
        look();
      },
      async close() {
        closed = true;
        clearInterval(timer);
        open.forEach(end);
      },
      ping: async (signal) => assertUsable(signal),
      snapshot() {
        assertUsable();
        const held = current;
        if (!held) throw new StorageError('unavailable', 'Nothing has been published yet.');
        let released = 0;
        held.holds++;
        return {
          version: held.manifest.version,
          publishedAt: held.publishedAt,
          manifest: held.manifest,
          async get(name, key, signal) {
            const order = context.collections.get(name)?.key ?? [];
            const equal = Object.fromEntries(order.map((field, i) => [field, /** @type {string} */ (key[i])]));
            return read(held, name, { order, equal }, signal)[0];
          },
          async *find(name, query, signal) {
            yield read(held, name, query, signal);
          },
          release: () => void (released++ === 0 && --held.holds === 0 && held !== current && end(held)),
        };
      },
      async publish(dataset, { onProgress, signal } = {}) {
        assertUsable(signal);
        look();
        const [{ manifest }, previous, draft] = [dataset, current, `${file}.${randomUUID()}`];
        if (isPublishing || previous?.manifest.version === manifest.version)
          throw new StorageError('conflict', 'The version exists already, or another version is being published.');
        isPublishing = true;
        const db = new sqlite.Database(draft);
        try {
          db.exec('BEGIN; CREATE TABLE "the dataset" (manifest, time)');
          for (const { name, key, orders = [] } of context.collections.values()) {
            const fields = [...new Set([...key, ...orders.flat()])];
            const indexes = [key, ...orders].map((by) => `CREATE INDEX "${name} ${by}" ON "${name}" (${quoted(by)});`);
            db.exec(`CREATE TABLE "${name}" (${quoted(fields)}, "its json"); ${indexes.join('')}`);
            const sql = `INSERT INTO "${name}" VALUES (${fields.map(() => '?')}, ?)`;
            let written = 0;
            for await (const batch of dataset.read(name)) {
              assertUsable(signal);
              for (const row of batch) db.run(sql, [...fields.map((field) => stored(row[field])), JSON.stringify(row)]);
              written += batch.length;
              onProgress?.({ collection: name, written, total: undefined });
            }
          }
          assertUsable(signal);
          look();
          if (current?.manifest.version === manifest.version)
            throw new StorageError('conflict', 'Published meanwhile.');
          const time = publishing.publicationTime(manifest, current?.publishedAt, context.clock);
          db.run('INSERT INTO "the dataset" VALUES (?, ?)', [JSON.stringify(manifest), time.toISOString()]);
          db.exec('COMMIT');
          renameSync(draft, file);
          look();
        } catch (cause) {
          throw cause instanceof StorageError ? cause : new StorageError('invalid_dataset', `${cause}`, { cause });
        } finally {
          db.close();
          rmSync(draft, { force: true });
          isPublishing = false;
        }
      },
    };
  },
};

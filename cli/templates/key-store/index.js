/** The {{name}} key store keeps the records of API keys in a JSON file. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { KeyStoreError } from 'metro-forecast-api/adapter';

/** @typedef {import('metro-forecast-api/adapter').KeyRecord} KeyRecord */
/** @typedef {import('metro-forecast-api/adapter').KeyStore} KeyStore */

const POLL_MS = 1000;

/** @implements {KeyStore} */
class JsonKeyStore {
  /** Records are kept in memory, because `lookup` is called for every request. @type {Map<string, KeyRecord>} */
  #byHash = new Map();
  #text = '[]';
  #isHealthy = true;
  /** @type {(() => void)[]} */
  #listeners = [];
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {string} path
   * @param {import('metro-forecast-api/adapter').Logger} logger
   */
  constructor(path, logger) {
    this.path = path;
    this.logger = logger;
  }

  async open() {
    await this.#poll();
    this.#timer = setInterval(() => this.#poll(), POLL_MS).unref();
  }

  async close() {
    clearInterval(this.#timer);
    await this.#last;
  }

  /** @param {string} hash */
  lookup(hash) {
    return this.#byHash.get(hash);
  }

  /** @param {() => void} listener */
  onChange(listener) {
    this.#listeners.push(listener);
  }

  health() {
    return { ok: this.#isHealthy, message: this.#isHealthy ? null : 'The keys cannot be read.' };
  }

  async list() {
    return [...this.#byHash.values()];
  }

  /** @param {KeyRecord} record */
  insert(record) {
    return this.#inTurn(async () => {
      const records = await this.#read();
      if (records.some(({ id, hash }) => id === record.id || hash === record.hash)) {
        throw new KeyStoreError('conflict', `A key with the id ${record.id}, or with the same hash, already exists.`);
      }
      await this.#write([...records, record]);
    });
  }

  /**
   * @param {string} id
   * @param {import('metro-forecast-api/adapter').KeyChange} change
   */
  update(id, change) {
    return this.#inTurn(async () => {
      const records = await this.#read();
      const record = records.find((each) => each.id === id);
      if (!record) throw new KeyStoreError('unknown_key', `There is no key with the id ${id}.`);
      const changed = { ...record, ...change };
      await this.#write(records.map((each) => (each === record ? changed : each)));
      return changed;
    });
  }

  async #read() {
    try {
      this.#use(await readFile(this.path, 'utf8'));
    } catch (/** @type {any} */ error) {
      // The file does not exist until the first key is created.
      if (error.code !== 'ENOENT') throw error;
    }
    return this.list();
  }

  /** @param {KeyRecord[]} records */
  async #write(records) {
    const text = JSON.stringify(records);
    await writeFile(`${this.path}.new`, text, { mode: 0o600 });
    await rename(`${this.path}.new`, this.path);
    this.#use(text);
  }

  /** @param {string} text the content of the file */
  #use(text) {
    if (text === this.#text) return;
    /** @type {KeyRecord[]} */
    const records = JSON.parse(text);
    this.#byHash = new Map(records.map((record) => [record.hash, record]));
    this.#text = text;
    for (const listener of this.#listeners) listener();
  }

  async #poll() {
    try {
      await this.#inTurn(() => this.#read());
      this.#isHealthy = true;
    } catch (err) {
      this.#isHealthy = false;
      this.logger.warn({ err }, 'the keys cannot be read');
    }
  }

  /**
   * Queues a change, so that concurrent changes in this process do not overwrite each other. A change that another
   * process makes at the same time can be lost.
   * @template T
   * @param {() => Promise<T>} change
   * @returns {Promise<T>}
   */
  #inTurn(change) {
    const done = this.#last.then(change);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** @type {import('metro-forecast-api/adapter').KeyStoreModule<{ path: string }>} */
export default {
  kind: 'key-store',
  name: '{{name}}',
  options: {
    type: 'object',
    required: ['path'],
    additionalProperties: false,
    properties: { path: { type: 'string', minLength: 1, description: 'The file that stores the keys.' } },
  },
  create: ({ path }, context) => new JsonKeyStore(context.resolvePath(path), context.logger),
};

import { expect } from 'chai';
import { collection } from '../../../core/contracts/plugin.js';
import type { Snapshot } from '../../../core/contracts/storage.js';
import { checkedSnapshot } from '../../../core/data/checked-snapshot.js';
import { publicationTime } from '../../../core/data/publishing.js';
import { StorageError } from '../../../core/errors.js';

interface Row {
  readonly id: string;
}
const schema = { type: 'object', required: ['id'], properties: { id: { type: 'string' } } } as const;
const rows = collection({ name: 'rows', key: ['id'], schema });
const others = collection({ name: 'others', key: ['id'], schema });

const manifest = {
  format: 1,
  version: 'v1',
  created: '2025-01-02T00:00:00Z',
  vintage: '2025-01-01',
  synthetic: true,
  sources: [],
} as const;

const snapshotWith = (parts: Partial<Snapshot>): Snapshot => ({
  version: 'v1',
  publishedAt: new Date(manifest.created),
  manifest,
  get: async (_, [id]) => ({ id }),
  async *find(_, { limit = 5 }) {
    yield [{ id: 'a' }, { id: 'b' }].slice(0, limit);
    yield [{ id: 'c' }];
  },
  release() {},
  ...parts,
});
const read = (parts: Partial<Snapshot> = {}, signal?: AbortSignal) =>
  checkedSnapshot(snapshotWith(parts), new Map([['rows', rows]]), signal);

const drain = async (batches: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of batches);
};

const failure = async (promise: Promise<unknown>): Promise<StorageError> => {
  const error = await promise.then(
    () => expect.fail('The promise did not reject.'),
    (reason: unknown) => reason,
  );
  expect(error).to.be.instanceOf(StorageError);
  return error as StorageError;
};

describe('checkedSnapshot(snapshot, collections, signal)', () => {
  it('has the version, publication time and manifest', () => {
    const { version, publishedAt, manifest: described } = read();
    expect({ version, publishedAt, described }).to.deep.equal({
      version: 'v1',
      publishedAt: new Date('2025-01-02T00:00:00Z'),
      described: manifest,
    });
  });

  it('pauses after each batch, so that other requests can run', async () => {
    let pauses = 0;
    const pause = async () => {
      pauses++;
    };
    const reader = checkedSnapshot(snapshotWith({}), new Map([['rows', rows]]), undefined, { pause });
    expect(await reader.find(rows)).to.have.length(3);
    expect(pauses).to.equal(2);
    await drain(reader.stream(rows));
    expect(pauses).to.equal(4);
  });

  it('streams batches of the same shape from every reader, so that V8 compiles their readers once', () => {
    const [one, other] = [read().stream(rows), read().stream(rows)];
    expect(Object.getPrototypeOf(one)).to.equal(Object.getPrototypeOf(other));
  });

  it('gets one document, finds all documents, and streams batches', async () => {
    expect(await read().get(rows, ['x'])).to.deep.equal({ id: 'x' });
    expect(await read().find(rows)).to.deep.equal([{ id: 'a' }, { id: 'b' }, { id: 'c' }]);
    const batches: (readonly Row[])[] = [];
    for await (const batch of read().stream(rows, { limit: 1 })) batches.push(batch);
    expect(batches).to.deep.equal([[{ id: 'a' }], [{ id: 'c' }]]);
  });

  it('passes a complete query and the signal to the adapter', async () => {
    const { signal } = new AbortController();
    const seen: unknown[] = [];
    const parts: Partial<Snapshot> = {
      async *find(...given) {
        seen.push(...given);
        yield [];
      },
    };
    await read(parts, signal).find(rows, { equal: { id: 'a' } });
    expect(seen).to.deep.equal(['rows', { order: ['id'], equal: { id: 'a' } }, signal]);
  });

  const reads: [name: string, (reader: ReturnType<typeof read>, target?: typeof rows) => Promise<unknown>][] = [
    ['get', (reader, target = rows) => reader.get(target, ['a'])],
    ['find', (reader, target = rows) => reader.find(target)],
    ['stream', (reader, target = rows) => drain(reader.stream(target))],
  ];
  const failing = (thrown: unknown): Partial<Snapshot> => ({
    get: () => Promise.reject(thrown),
    // biome-ignore lint/correctness/useYield: it fails before the first batch
    async *find() {
      throw thrown;
    },
  });
  for (const [name, call] of reads) {
    it(`${name}: rejects with unknown_collection for an undeclared collection`, async () => {
      expect(await failure(call(read(), others))).to.have.property('code', 'unknown_collection');
    });

    it(`${name}: rethrows the adapter's StorageError`, async () => {
      const error = new StorageError('closed', 'The store is closed.');
      expect(await failure(call(read(failing(error))))).to.equal(error);
    });

    it(`${name}: turns any other error of the adapter into unavailable, with its cause`, async () => {
      const cause = new TypeError('socket hang up');
      const error = await failure(call(read(failing(cause))));
      expect(error).to.include({ code: 'unavailable', cause });
    });

    it(`${name}: turns an error after the signal's abort into aborted`, async () => {
      const controller = new AbortController();
      const pending = call(read(failing(new DOMException('stop', 'AbortError')), controller.signal));
      controller.abort();
      expect(await failure(pending)).to.have.property('code', 'aborted');
    });

    it(`${name}: does not call the adapter after the signal is aborted`, async () => {
      const adapter = failing(new Error('called'));
      const error = await failure(call(read(adapter, AbortSignal.abort())));
      expect(error).to.have.property('code', 'aborted');
      expect(error.cause).to.equal(undefined);
    });
  }

  it('rejects a read that the collection does not declare', async () => {
    expect(await failure(read().get(rows, []))).to.have.property('code', 'invalid_query');
    expect(await failure(read().find(rows, { limit: -1 }))).to.have.property('code', 'invalid_query');
  });

  it('rejects words for a store or a collection without search, which would return all rows', async () => {
    const searched = collection({ name: 'rows', key: ['id'], search: ['id'], schema });
    const find = (searches: boolean, declared: typeof rows) =>
      checkedSnapshot(snapshotWith({ searches }), new Map([['rows', declared]])).find(rows, { words: ['a'] });
    expect(await failure(find(false, searched))).to.have.property('code', 'invalid_query');
    expect(await failure(find(true, rows))).to.have.property('code', 'invalid_query');
    expect(await find(true, searched)).to.have.length(3);
  });

  it('rejects totals by more than two fields', async () => {
    const query = { where: [], by: ['id', 'id', 'id'], limit: 1 } as const;
    expect(await failure(read().totals(rows, query))).to.have.property('code', 'invalid_query');
  });
});

describe('publicationTime(manifest, previous, clock)', () => {
  const clock = { now: () => Date.parse('2025-06-01T00:00:00Z'), monotonic: () => 0 };
  const cases: [what: string, previous: string | undefined, time: string][] = [
    ['is the creation time of the dataset', undefined, '2025-01-02T00:00:00.000Z'],
    ['is the creation time if the previous version is older', '2025-01-01T23:59:59.999Z', '2025-01-02T00:00:00.000Z'],
    [
      'is now if the creation time is not later than the previous version',
      '2025-01-02T00:00:00.000Z',
      '2025-06-01T00:00:00.000Z',
    ],
    [
      'is after the previous version, even if that is in the future',
      '2026-01-01T00:00:00.000Z',
      '2026-01-01T00:00:00.001Z',
    ],
  ];
  for (const [what, previous, time] of cases) {
    it(what, () => {
      const published = publicationTime(manifest, previous === undefined ? undefined : new Date(previous), clock);
      expect(published.toISOString()).to.equal(time);
    });
  }
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { pino } from 'pino';
import { collectGarbage } from '../../adapters/conformance/collect-garbage.js';
import { describeAdapter } from '../../adapters/conformance/index.js';
import memory from '../../adapters/memory.js';
import type { Collection } from '../../core/contracts/dataset.js';
import { systemClock } from '../../core/contracts/runtime.js';
import type { Dataset, StorageAdapter } from '../../core/contracts/storage.js';
import { MANIFEST_FILE } from '../../core/data/manifest.js';
import { StorageError } from '../../core/errors.js';

describeAdapter({
  name: memory.name,
  capabilities: memory.capabilities,
  async create(dataset, context) {
    const adapter = memory.create({}, context);
    await adapter.open();
    await adapter.publish!(dataset);
    return adapter;
  },
  createEmpty: (context) => memory.create({}, context),
});

const rows: Collection = {
  name: 'rows',
  key: ['id'],
  schema: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
};

describe('versions of the memory adapter', () => {
  const NOW = Date.parse('2025-06-01T00:00:00Z');

  const empty = (version: string): Dataset => {
    const manifest = { format: 1, version, created: new Date(NOW).toISOString(), vintage: '2025-01-01' } as const;
    return { manifest: { ...manifest, synthetic: true, sources: [] }, async *read() {} };
  };

  const openWith = async (...versions: readonly string[]): Promise<StorageAdapter> => {
    const adapter = memory.create(
      {},
      {
        collections: new Map([['rows', rows]]),
        logger: pino({ level: 'silent' }),
        clock: { now: () => NOW, monotonic: () => 0 },
        resolvePath: resolve,
        changed: () => {},
        problem: () => {},
      },
    );
    await adapter.open();
    for (const version of versions) await adapter.publish!(empty(version));
    return adapter;
  };

  it('stay readable while a client reads them', async () => {
    const adapter = await openWith('v1');
    const held = async () => (await adapter.versions!.list()).map((version) => version.held);
    const [first, second] = [adapter.snapshot(), adapter.snapshot()];
    expect(await held()).to.deep.equal([true]);
    first.release();
    expect(await held()).to.deep.equal([true]);
    second.release();
    expect(await held()).to.deep.equal([false]);
  });

  it('are removed from memory by prune()', async () => {
    const adapter = await openWith('v1');
    const readManifest = (): WeakRef<object> => {
      const snapshot = adapter.snapshot();
      snapshot.release();
      return new WeakRef(snapshot.manifest);
    };
    const manifest = readManifest();
    await adapter.publish!(empty('v2'));
    expect(await adapter.versions!.prune(1)).to.deep.equal(['v1']);
    await setImmediate();
    collectGarbage();
    expect(manifest.deref()).to.equal(undefined);
  });

  for (const [what, size, message] of [
    ['an infinite number', Number.POSITIVE_INFINITY, 'the row with the key [1] has no finite number in "size"'],
    ['a BigInt', 1n, 'a row cannot be converted to JSON'],
  ] as const) {
    it(`are rejected if they contain ${what}`, async () => {
      const adapter = await openWith('v1');
      const dataset = {
        ...empty('v2'),
        async *read() {
          yield [{ id: 1, size }];
        },
      } as unknown as Dataset;
      const error = await adapter.publish!(dataset).catch((reason: unknown) => reason);
      expect(error).to.have.property('code', 'invalid_dataset');
      expect(error).to.have.property('message').that.includes(message);
    });
  }

  it('get distinct times when they are activated within one millisecond', async () => {
    const adapter = await openWith('v1', 'v2');
    await adapter.versions!.activate('v1');
    await adapter.versions!.activate('v2');
    const at = async (ms: number) => (await adapter.versions!.asOf(new Date(NOW + ms)))?.version;
    const current = [await at(-1), await at(0), await at(1), await at(2), await at(3)];
    expect(current).to.deep.equal([undefined, 'v1', 'v2', 'v1', 'v2']);
  });

  it('are named in errors about existing or missing versions', async () => {
    const adapter = await openWith('v1');
    const dataset = { manifest: adapter.snapshot().manifest, async *read() {} };
    const message = (call: Promise<unknown>) => call.then(String, ({ message }: Error) => message);
    expect(await message(adapter.publish!(dataset))).to.match(/^Version v1 was already published on /);
    expect(await message(adapter.versions!.activate('v9'))).to.equal(
      'There is no version v9. Versions in the store: v1.',
    );
  });

  it('are not added by an aborted publication, whose error says so', async () => {
    const adapter = await openWith('v1');
    const error = await adapter.publish!(empty('v2'), { signal: AbortSignal.abort() }).catch(
      (reason: unknown) => reason,
    );
    expect(error).to.have.property('code', 'aborted');
    expect(error).to.have.property('message', 'The publication was aborted.');
  });
});

describe('the memory adapter with { path }', () => {
  const manifest = {
    format: 1,
    version: 'v1',
    created: '2025-01-02T00:00:00Z',
    vintage: '2025-01-01',
    synthetic: true,
    sources: [],
    collections: { rows: { file: 'rows.ndjson' } },
  };
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'memory-adapter-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const open = async (): Promise<StorageAdapter> => {
    const adapter = memory.create(
      { path: '.' },
      {
        collections: new Map([['rows', rows]]),
        logger: pino({ level: 'silent' }),
        clock: systemClock,
        resolvePath: (path) => resolve(folder, path),
        changed: () => {},
        problem: () => {},
      },
    );
    await adapter.open();
    return adapter;
  };
  const write = async (lines: string): Promise<void> => {
    await writeFile(join(folder, MANIFEST_FILE), JSON.stringify(manifest));
    await writeFile(join(folder, 'rows.ndjson'), lines);
  };
  const rejection = async (): Promise<StorageError> => {
    const error = await open().then(
      () => expect.fail('The promise did not reject.'),
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(StorageError).with.property('code', 'invalid_dataset');
    return error as StorageError;
  };

  it('publishes the directory when it opens', async () => {
    await write('{"id":1}\n{"id":2}\n');
    const snapshot = (await open()).snapshot();
    expect(snapshot.version).to.equal('v1');
    expect(snapshot.publishedAt).to.deep.equal(new Date('2025-01-02T00:00:00Z'));
    expect(await snapshot.get('rows', [2])).to.deep.equal({ id: 2 });
  });

  it('rejects an invalid directory and lists every error', async () => {
    await write('{"id":2}\n{"id":1}\n{"id":"x"}\n');
    const { message } = await rejection();
    expect(message).to.include(`${folder} is not valid:`);
    expect(message).to.match(/rows\.ndjson:2: id: .*\n.*rows\.ndjson:3: id: /);
  });

  it('rejects a missing directory', async () => {
    const { message } = await rejection();
    expect(message).to.include(join(folder, MANIFEST_FILE));
  });
});

import { expect } from 'chai';
import { pino } from 'pino';
import memory from '../../../adapters/memory.js';
import type { Collection } from '../../../core/contracts/dataset.js';
import { collection, type DataRoute, dataRoute } from '../../../core/contracts/plugin.js';
import { systemClock } from '../../../core/contracts/runtime.js';
import type { StorageAdapter } from '../../../core/contracts/storage.js';
import { ApiError, errors, StorageError } from '../../../core/errors.js';
import { jsonFormat } from '../../../core/response/formats.js';
import { CurrentSnapshot } from '../../../core/routes/current-snapshot.js';
import type { DataRequest } from '../../../core/routes/response-cache.js';
import { longWork } from '../../../core/util/event-loop.js';
import { keptLogger } from '../../support/kept-logger.js';
import { memoryDataset } from '../../support/memory-dataset.js';

const values = collection({
  name: 'values',
  key: ['id'],
  schema: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
});
const collections = new Map<string, Collection>([[values.name, values]]);

describe('CurrentSnapshot.refresh()', () => {
  let failures: Readonly<Record<string, Error>>;

  const requestOf = (name: string): DataRequest => ({
    cacheKey: name,
    input: {},
    format: jsonFormat,
    route: dataRoute({
      path: '/values',
      operationId: 'listValues',
      summary: 'Values',
      response: { description: 'Values.', schema: { type: 'object' }, example: {} },
      async handler(_input, { snapshot }) {
        const failure = failures[`${name} ${snapshot.version}`];
        if (failure) throw failure;
        return { data: await snapshot.find(values) };
      },
    }) as DataRoute,
  });
  const requests = ['a', 'b', 'c'].map(requestOf);

  const published = async () => {
    const logger = keptLogger();
    const context = { collections, logger, clock: systemClock, resolvePath: (path: string) => path };
    const adapter = memory.create({}, { ...context, changed: () => undefined, problem: () => undefined });
    await adapter.open();
    const publish = (version: string) =>
      adapter.publish!(
        memoryDataset(
          {
            format: 1,
            version,
            created: `2020-01-0${version}T00:00:00Z`,
            vintage: '2020-01-01',
            synthetic: true,
            sources: [],
          },
          { values: [{ id: 'x' }] },
        ),
      );
    const snapshots = new CurrentSnapshot({
      adapter,
      collections,
      cacheBytes: 1e6,
      answerMs: 5000,
      clock: systemClock,
      logger,
    });
    await publish('1');
    await snapshots.refresh();
    for (const [uses, request] of [...requests].reverse().entries()) {
      for (let i = 0; i <= uses; i++) await snapshots.served!.respond(request, longWork.join());
    }
    await publish('2');
    await snapshots.refresh();
    const { version, responses } = snapshots.served!;
    const cached = requests.map(({ cacheKey }) => cacheKey).filter((cacheKey) => responses.get(cacheKey));
    snapshots.close();
    await adapter.close();
    return { version, cached, warnings: logger.lines.filter((line) => line.startsWith('warn')) };
  };

  it('logs the reason without a stack while the store has no snapshot', async () => {
    const lines: Record<string, unknown>[] = [];
    const logger = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
    const context = { collections, logger, clock: systemClock, resolvePath: (path: string) => path };
    const adapter = memory.create({}, { ...context, changed: () => undefined, problem: () => undefined });
    await adapter.open();
    const options = { adapter, collections, cacheBytes: 1e6, answerMs: 5000, clock: systemClock, logger };
    await new CurrentSnapshot(options).refresh();
    await adapter.close();
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include({ level: 40, msg: 'there is no snapshot to serve yet' });
    expect(lines[0]).to.have.property('reason').that.is.a('string');
    expect(lines[0]).to.not.have.property('err');
  });

  describe('with a third-party adapter', () => {
    const held = { version: '1', publishedAt: new Date(0), release: () => undefined };
    const refreshing = (snapshot: () => object) => {
      const logger = keptLogger();
      const adapter = { snapshot } as unknown as StorageAdapter;
      const options = { adapter, collections, cacheBytes: 1e6, answerMs: 5000, clock: systemClock, logger };
      return { snapshots: new CurrentSnapshot(options), logger };
    };

    it('refreshes again for each change, even if it is reported as the refresh ends', async () => {
      let version = 1;
      const { snapshots } = refreshing(() => ({ ...held, version: String(version) }));
      const first = snapshots.refresh();
      for (; version < 5; version++) {
        const before = snapshots.refresh();
        await Promise.resolve();
        void snapshots.refresh();
        await before;
      }
      await first;
      await snapshots.refresh();
      expect(snapshots.served!.version).to.equal('5');
    });

    it('logs an error of release() instead of rejecting, and keeps refreshing', async () => {
      let version = 1;
      const release = () => {
        throw new TypeError('A bug.');
      };
      const { snapshots, logger } = refreshing(() => ({ ...held, version: String(version), release }));
      await snapshots.refresh();
      await snapshots.refresh();
      version++;
      await snapshots.refresh();
      expect(snapshots.served!.version).to.equal('2');
      expect(logger.lines.filter((line) => line.startsWith('error'))).to.deep.equal([
        'error: the current snapshot could not be refreshed',
        'error: the current snapshot could not be refreshed',
      ]);
    });

    it('releases a snapshot that becomes ready after close()', async () => {
      let released = 0;
      let version = 0;
      const snapshot = () => ({ ...held, version: String(++version), release: () => released++ });
      const { snapshots } = refreshing(snapshot);
      await snapshots.refresh();
      const refreshed = snapshots.refresh();
      snapshots.close();
      await refreshed;
      expect([snapshots.served, released]).to.deep.equal([undefined, 2]);
    });
  });

  it('computes the cached representations of the previous snapshot', async () => {
    failures = {};
    expect(await published()).to.deep.equal({ version: '2', cached: ['a', 'b', 'c'], warnings: [] });
  });

  it('logs an error of a handler, and computes the others', async () => {
    failures = { 'a 2': new Error('A bug.') };
    const warnings = ['warn: a response could not be built for the new snapshot'];
    expect(await published()).to.deep.equal({ version: '2', cached: ['b', 'c'], warnings });
  });

  it('does not log a representation that the new snapshot lacks, such as a deleted document', async () => {
    failures = { 'a 2': new ApiError(errors.route_not_found) };
    expect(await published()).to.deep.equal({ version: '2', cached: ['b', 'c'], warnings: [] });
  });

  it('stops at an error of storage, logs it once, and serves the new snapshot', async () => {
    failures = { 'a 2': new StorageError('unavailable', 'Gone.'), 'b 2': new StorageError('unavailable', 'Gone.') };
    const warnings = ['warn: warming the new snapshot was interrupted'];
    expect(await published()).to.deep.equal({ version: '2', cached: [], warnings });
  });
});

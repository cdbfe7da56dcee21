import { expect } from 'chai';
import { pino } from 'pino';
import memory from '../../../adapters/memory.js';
import type { Collection } from '../../../core/contracts/dataset.js';
import { collection, type DataRoute, dataRoute } from '../../../core/contracts/plugin.js';
import { systemClock } from '../../../core/contracts/runtime.js';
import { ApiError, errors, StorageError } from '../../../core/errors.js';
import { jsonFormat } from '../../../core/response/formats.js';
import type { DataRequest } from '../../../core/routes/response-cache.js';
import { CurrentSnapshot } from '../../../core/routes/served-snapshot.js';
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

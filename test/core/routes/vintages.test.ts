/**
 * Versions are published and activated at random. `as_of` must return the data that was served at the end of the day.
 */

import { expect } from 'chai';
import fc from 'fast-check';
import { pino } from 'pino';
import memory from '../../../adapters/memory.js';
import mongo from '../../../adapters/mongo/index.js';
import type { Collection } from '../../../core/contracts/dataset.js';
import { collection, type DataRoute, dataRoute } from '../../../core/contracts/plugin.js';
import { systemClock } from '../../../core/contracts/runtime.js';
import type { AdapterContext, StorageAdapter } from '../../../core/contracts/storage.js';
import { ApiError } from '../../../core/errors.js';
import { jsonFormat } from '../../../core/response/formats.js';
import type { Representation } from '../../../core/response/representation.js';
import type { DataRequest } from '../../../core/routes/response-cache.js';
import type { StreamedListResponse } from '../../../core/routes/streamed-list.js';
import { createVintages, type Vintages } from '../../../core/routes/vintages.js';
import { longWork } from '../../../core/util/event-loop.js';
import { memoryDataset } from '../../support/memory-dataset.js';
import { mongoForTests, uniqueName } from '../../support/services.js';

const values = collection({
  name: 'values',
  key: ['id'],
  schema: {
    type: 'object',
    required: ['id', 'value'],
    properties: { id: { type: 'string' }, value: { type: 'integer' } },
  },
});
const context: AdapterContext = {
  collections: new Map<string, Collection>([[values.name, values]]),
  logger: pino({ level: 'silent' }),
  clock: systemClock,
  resolvePath: (path) => path,
  changed: () => undefined,
  problem: () => undefined,
};

type Versioned = StorageAdapter & Required<Pick<StorageAdapter, 'publish' | 'versions'>>;

const DAY = 24 * 3600 * 1000;
const START = Date.UTC(2020, 0, 1);
const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

const publish = (adapter: Versioned, version: string, created: number, value: number): Promise<void> =>
  adapter.publish(
    memoryDataset(
      {
        format: 1,
        version,
        created: new Date(created).toISOString(),
        vintage: '2020-01-01',
        synthetic: true,
        sources: [],
      },
      { values: [{ id: 'a', value }] },
    ),
  );

const countingRequest = (isStreamed = false): { request: DataRequest; calls: () => number } => {
  let calls = 0;
  const route = dataRoute({
    path: '/values',
    operationId: 'listValues',
    summary: 'Values',
    response: { description: 'Values.', schema: { type: 'object' }, example: {} },
    async handler(_input, { snapshot }) {
      calls++;
      return { data: isStreamed ? snapshot.stream(values) : await snapshot.find(values) };
    },
  }) as DataRoute;
  return { request: { cacheKey: 'listValues []', route, input: {}, format: jsonFormat }, calls: () => calls };
};

const bodyAt = async (vintages: Vintages, date: string, request: DataRequest) => {
  try {
    const { representation, snapshotVersion } = await vintages.respond(date, request, longWork.join());
    const { identity, lastModified } = representation as Representation;
    return { version: snapshotVersion, lastModified, body: identity.body.toString() };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.kind.code;
  }
};

type Step = { readonly created: number } | { readonly activate: number };

const history = fc.array(
  fc.oneof(
    // All times are within a few days, so that several times fall on the same day. Some times are the first or last
    // millisecond of a day.
    { weight: 3, arbitrary: fc.record({ created: fc.integer({ min: 0, max: 6 * DAY }).map((ms) => START + ms) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        created: fc.tuple(fc.nat(5), fc.constantFrom(0, 1, DAY - 1)).map(([day, ms]) => START + day * DAY + ms),
      }),
    },
    { weight: 1, arbitrary: fc.record({ activate: fc.nat() }) },
  ),
  { maxLength: 6 },
) as fc.Arbitrary<Step[]>;

const adapters: readonly (readonly [name: string, runs: number, create: () => Promise<Versioned>])[] = [
  ['memory', 200, async () => memory.create({}, context) as Versioned],
  [
    'mongo',
    8,
    async () =>
      mongo.create({ uri: (await mongoForTests()).url, database: uniqueName('vintages') }, context) as Versioned,
  ],
];

describe('Vintages', () => {
  for (const [name, numRuns, create] of adapters) {
    describe(`on ${name}`, function () {
      this.timeout(120_000);

      it('returns, for each date, the data that was served at the end of that day', async () => {
        await fc.assert(
          fc.asyncProperty(history, async (steps) => {
            const adapter = await create();
            await adapter.open();
            try {
              const vintages = createVintages({
                adapter,
                collections: context.collections,
                cacheBytes: 1_000_000,
                answerMs: 4000,
              });
              const { request } = countingRequest();
              const served: { version: string; publishedAt: number; value: number }[] = [];
              const valuesBy = new Map<string, number>();
              for (const [at, step] of steps.entries()) {
                if ('created' in step) {
                  valuesBy.set(`v${at}`, at);
                  await publish(adapter, `v${at}`, step.created, at);
                } else if (valuesBy.size > 0) {
                  await adapter.versions.activate([...valuesBy.keys()][step.activate % valuesBy.size]!);
                }
                if (valuesBy.size === 0) continue;
                const snapshot = adapter.snapshot();
                const { version, publishedAt } = snapshot;
                snapshot.release();
                served.push({ version, publishedAt: publishedAt.getTime(), value: valuesBy.get(version)! });
                // The response is cached while the version is current, but must not outlive the version.
                await bodyAt(vintages, dateOf(START + 3 * DAY), request);
              }
              const dates = served.flatMap(({ publishedAt }) => [publishedAt - DAY, publishedAt, publishedAt + DAY]);
              for (const time of [START, START + 3 * DAY, Date.UTC(9999, 11, 31), ...dates]) {
                const date = dateOf(time);
                const current = served.findLast(({ publishedAt }) => dateOf(publishedAt) <= date);
                expect(await bodyAt(vintages, date, request), date).to.deep.equal(
                  current
                    ? {
                        version: current.version,
                        lastModified: Math.floor(current.publishedAt / 1000) * 1000,
                        body: JSON.stringify({ data: [{ id: 'a', value: current.value }] }),
                      }
                    : 'snapshot_not_found',
                );
              }
            } finally {
              await adapter.close();
            }
          }),
          { numRuns },
        );
      });

      it('computes once for concurrent requests, then releases the version', async () => {
        const adapter = await create();
        await adapter.open();
        try {
          const vintages = createVintages({
            adapter,
            collections: context.collections,
            cacheBytes: 1_000_000,
            answerMs: 4000,
          });
          const { request, calls } = countingRequest();
          await publish(adapter, 'old', START, 1);
          await publish(adapter, 'new', START + 10 * DAY, 2);
          const send = () => bodyAt(vintages, '2020-01-05', request);
          const bodies = await Promise.all(Array.from({ length: 20 }, send));
          bodies.push(await send());
          expect(bodies.map((answer) => (answer as { version: string }).version)).to.deep.equal(Array(21).fill('old'));
          expect(calls()).to.equal(1);
          expect(await adapter.versions.prune(1)).to.deep.equal(['old']);
          expect(await send()).to.equal('snapshot_not_found');
        } finally {
          await adapter.close();
        }
      });

      it('calls the handler of a streamed list once, and holds the version until the list is released', async () => {
        const adapter = await create();
        await adapter.open();
        try {
          const options = { collections: context.collections, cacheBytes: 1_000_000, answerMs: 4000 };
          const vintages = createVintages({ adapter, ...options });
          const { request, calls } = countingRequest(true);
          await publish(adapter, 'old', START, 1);
          await publish(adapter, 'new', START + 10 * DAY, 2);
          const { representation } = await vintages.respond('2020-01-05', request, longWork.join());
          const list = representation as StreamedListResponse;
          expect(await adapter.versions.prune(1)).to.deep.equal([]);
          const { identity } = (await list.open(longWork.join(), 'identity', context.logger)) as Representation;
          list.release();
          expect([identity.body.toString(), calls()]).to.deep.equal(['{"data":[{"id":"a","value":1}]}', 1]);
          expect(await adapter.versions.prune(1)).to.deep.equal(['old']);
        } finally {
          await adapter.close();
        }
      });

      it('releases the version when the handler fails', async () => {
        const adapter = await create();
        await adapter.open();
        try {
          const vintages = createVintages({
            adapter,
            collections: context.collections,
            cacheBytes: 1_000_000,
            answerMs: 4000,
          });
          const { request } = countingRequest();
          const handler = async () => {
            throw new Error('broken');
          };
          await publish(adapter, 'old', START, 1);
          await publish(adapter, 'new', START + 10 * DAY, 2);
          const broken = { ...request, route: { ...request.route, handler } };
          const failure = await bodyAt(vintages, '2020-01-05', broken).catch((error: Error) => error.message);
          expect(failure).to.equal('broken');
          expect(await adapter.versions.prune(1)).to.deep.equal(['old']);
        } finally {
          await adapter.close();
        }
      });
    });
  }
});

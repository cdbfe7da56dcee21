import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonSchema } from '../../../core/contracts/json-schema.js';
import { type DataRoute, dataRoute, type Format } from '../../../core/contracts/plugin.js';
import type { CheckedReader } from '../../../core/data/checked-snapshot.js';
import { lazyRow, lazyRows, rowText } from '../../../core/data/lazy-rows.js';
import { jsonRows } from '../../../core/data/packed-documents.js';
import { csvFormat } from '../../../core/response/csv-format.js';
import { jsonFormat, ndjsonFormat } from '../../../core/response/formats.js';
import { parquetFormat } from '../../../core/response/parquet-format.js';
import type { Representation } from '../../../core/response/representation.js';
import { buildOrStart, type StartedList } from '../../../core/routes/build-response.js';
import { callHandler } from '../../../core/routes/call-handler.js';
import { BackgroundPacing, longWork, type Pauses } from '../../../core/util/event-loop.js';

const snapshot = {
  version: 'v1',
  publishedAt: new Date(0),
  readUntil: () => undefined,
  bounded: (handling: unknown) => handling,
} as unknown as CheckedReader;

const properties = { a: {}, b: {}, i: {}, text: { type: 'string' } };
const SCHEMA: JsonSchema = {
  type: 'object',
  properties: { data: { type: 'array', items: { type: 'object', properties } } },
};

const buildResponse = async (
  response: unknown,
  format: Format = jsonFormat,
  pauses: Pauses = longWork.join(),
  limits: { readonly mostBytes?: number; readonly mostStoredBytes?: number; readonly aheadBytes?: number } = {},
) => {
  const route = dataRoute({
    path: '/things',
    operationId: 'listThings',
    summary: 'Things',
    response: { description: 'Things.', schema: SCHEMA, example: { data: [] } },
    handler: async () => response,
  }) as DataRoute;
  const request = { cacheKey: '', route, input: {}, format };
  return buildOrStart(request, snapshot, await callHandler(request, snapshot), pauses, {
    mostBytes: Number.POSITIVE_INFINITY,
    mostStoredBytes: Number.POSITIVE_INFINITY,
    stallMs: 10_000,
    ...limits,
  });
};

type Options = Parameters<typeof buildResponse> extends [unknown, ...infer Rest] ? Rest : never;
const build = (data: unknown, ...options: Options) => buildResponse({ data }, ...options);

const represent = async (data: unknown, format?: Format, pauses?: Pauses) =>
  (await build(data, format, pauses)) as Representation;

class CountedPace extends BackgroundPacing {
  pauses = 0;

  override async pause() {
    this.pauses++;
  }
}

async function* inBatches<T>(batches: readonly T[]): AsyncGenerator<T> {
  yield* batches;
}

describe('buildOrStart() of a row', () => {
  it('sends the stored text without parsing the row', async () => {
    const text = '{"id": 1, "data": [1.50]}';
    const row = lazyRow(text);
    const { identity } = (await buildResponse(row)) as Representation;
    expect([String(identity.body), rowText(row)]).to.deep.equal([text, text]);
  });
});

describe('buildOrStart() of a large list', () => {
  it('reads up to the limit before it writes any rows, and starts after the first chunk', async () => {
    const rows = Array.from({ length: 1000 }, (_, i) => ({ i, text: 'x'.repeat(1000) }));
    let read = 0;
    async function* batches() {
      for (; read < 100; read++) yield lazyRows(jsonRows(rows));
    }
    const readAtFirst: number[] = [];
    const format: Format = {
      ...ndjsonFormat,
      async *write(all) {
        for await (const _ of all) {
          readAtFirst.push(read);
          yield Buffer.alloc(64 * 1024);
        }
      },
    };
    const limit = 5_000_000;
    const started = (await build(batches(), format, undefined, {
      mostStoredBytes: limit,
      aheadBytes: limit,
    })) as StartedList;
    started.reading.close();
    expect(readAtFirst).to.deep.equal([4]);
    expect(started.first.length).to.equal(1);
  });

  for (const format of [jsonFormat, csvFormat(true), parquetFormat]) {
    it(`starts in ${format.name} when a batch was read, and rejects if the first read fails`, async () => {
      const read: number[] = [];
      async function* batches(isFailing: boolean) {
        if (isFailing) throw new Error('the store is gone');
        for (let i = 0; i < 10; i++) {
          read.push(i);
          yield lazyRows(jsonRows([{ a: i, b: 'x'.repeat(100_000), text: '' }]));
        }
      }
      const started = (await build(batches(false), format, undefined, { mostBytes: 0 })) as StartedList;
      started.reading.close();
      expect(read).to.deep.equal([0]);
      const error = await build(batches(true), format, undefined, { mostBytes: 0 }).catch(
        (error: Error) => error.message,
      );
      expect(error).to.equal('the store is gone');
    });
  }
});

describe('buildOrStart() of a list in batches', () => {
  const rows = fc.array(fc.record({ a: fc.jsonValue(), b: fc.string({ unit: 'grapheme' }) }), { maxLength: 5 });

  for (const [name, format] of [
    ['JSON', jsonFormat],
    ['NDJSON', ndjsonFormat],
    ['CSV', csvFormat(true)],
  ] as const) {
    it(`has the bytes, ETag and type of the whole list in ${name}, for any batches`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(rows, { maxLength: 5 }), async (batches) => {
          const [cut, whole] = await Promise.all([
            represent(inBatches(batches), format),
            represent(batches.flat(), format),
          ]);
          expect(cut.identity.body.equals(whole.identity.body)).to.equal(true);
          expect(cut.identity.head).to.deep.equal(whole.identity.head);
        }),
      );
    });

    it(`has the same bytes in ${name} if its rows are sent as they are stored`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(rows, { maxLength: 5 }), async (batches) => {
          const text = batches.map(jsonRows);
          const lists = [lazyRows(...text), inBatches(text.map((each) => lazyRows(each))), batches.flat()];
          const bodies = await Promise.all(lists.map((data) => represent(data, format)));
          const [list, streamed, parsed] = bodies.map(({ identity }) => String(identity.body));
          expect([list, streamed]).to.deep.equal([parsed, parsed]);
        }),
      );
    });
  }

  it('runs other work between batches', async () => {
    const batch = Array.from({ length: 1000 }, (_, i) => ({ i, text: 'a row of some length, as they often are' }));
    let turns = 0;
    let going = true;
    const others = (async () => {
      while (going) {
        await setImmediate();
        turns++;
      }
    })();
    await represent(inBatches(Array.from({ length: 200 }, () => batch)));
    going = false;
    await others;
    expect(turns).to.be.greaterThan(5);
  });

  it('pauses after each batch of background work', async () => {
    const batches = Array.from({ length: 50 }, (_, i) => [{ i }]);
    const pace = new CountedPace();
    const [paced, whole] = await Promise.all([
      represent(inBatches(batches), jsonFormat, pace),
      represent(batches.flat()),
    ]);
    expect(pace.pauses).to.be.at.least(batches.length - 1);
    expect(paced.identity.body.equals(whole.identity.body)).to.equal(true);
  });

  for (const [name, format] of [
    ['JSON', jsonFormat],
    ['CSV', csvFormat(true)],
    ['Parquet', parquetFormat],
  ] as const) {
    it(`writes a long list in memory in batches in ${name}`, async () => {
      for (const length of [0, 1, 100, 101, 1234]) {
        const rows = Array.from({ length }, (_, i) => ({ i, text: `=${i}` }));
        const pace = new CountedPace();
        const [paced, whole] = await Promise.all([represent(rows, format, pace), represent(rows, format)]);
        if (length > 100) expect(pace.pauses).to.be.at.least(Math.floor(length / 100));
        else expect(pace.pauses).to.equal(0);
        expect(paced.identity.body.equals(whole.identity.body)).to.equal(true);
        expect(paced.identity.head).to.equal(whole.identity.head);
      }
    });
  }

  it('rejects with the error of a batch', async () => {
    async function* broken() {
      yield [{ a: 1 }];
      throw new Error('the store failed');
    }
    const outcome = await represent(broken()).catch((error: unknown) => error);
    expect(outcome).to.have.property('message', 'the store failed');
  });
});

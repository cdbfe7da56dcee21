import { expect } from 'chai';
import type { DataRoute } from '../../../core/contracts/plugin.js';
import { JSON_TYPE, jsonFormat } from '../../../core/response/formats.js';
import { Representation } from '../../../core/response/representation.js';
import { type DataRequest, ENTRY_OVERHEAD, ResponseCache } from '../../../core/routes/response-cache.js';

const BODY = 99;
const BYTES = BODY + 1 + ENTRY_OVERHEAD;
const responseOf = (size: number): Representation =>
  new Representation(Buffer.alloc(size, ' '), JSON_TYPE, { lastModified: new Date(0), head: '' });
const response = (): Representation => responseOf(BODY);

const route = { operationId: 'getThings' } as DataRoute;
const requestFor = (cacheKey: string): DataRequest => ({ cacheKey, route, input: {}, format: jsonFormat });

const cacheFor = (answers: number) => {
  const cache = new ResponseCache(answers * BYTES);
  const added: string[] = [];
  const hottest = (count: number) => cache.hottest(count).map(({ cacheKey }) => cacheKey);
  return {
    cache,
    hottest,
    add(cacheKey: string, representation: Representation = response()) {
      added.push(cacheKey);
      cache.set(requestFor(cacheKey), representation);
    },
    dropped() {
      const held = new Set(hottest(added.length));
      return added.filter((cacheKey) => !held.has(cacheKey));
    },
  };
};

describe('ResponseCache', () => {
  it('fills its budget to the last byte', () => {
    const { add, cache, dropped } = cacheFor(3);
    for (const shape of 'abc') add(shape);
    expect([cache.size, cache.bytes, dropped()]).to.deep.equal([3, 3 * BYTES, []]);
  });

  it('drops the oldest of equally used responses, and only as many as necessary', () => {
    const { add, cache, dropped } = cacheFor(3);
    for (const shape of 'abcd') add(shape);
    expect(dropped()).to.deep.equal(['a']);
    expect([cache.size, cache.bytes]).to.deep.equal([3, 3 * BYTES]);
    expect(cache.get('a')).to.equal(undefined);
    expect(cache.get('b')).to.be.instanceOf(Representation);
  });

  it('drops less frequently used responses first, regardless of their age', () => {
    const { add, cache, dropped } = cacheFor(3);
    for (const shape of 'abc') add(shape);
    for (let use = 0; use < 8; use++) cache.get('a');
    for (const shape of 'de') add(shape);
    expect(dropped()).to.deep.equal(['b', 'c']);
    expect(cache.get('a')).to.be.instanceOf(Representation);
  });

  it('drops a response that was used often but is no longer used', () => {
    const { add, cache, dropped } = cacheFor(2);
    add('a');
    for (let use = 0; use < 8; use++) cache.get('a');
    for (const shape of 'bcdefghij') add(shape);
    expect(dropped()).to.include('a');
  });

  it('visits few responses for each dropped one', () => {
    let looks = 0;
    class Watched extends Representation {
      override get size(): number {
        looks++;
        return super.size;
      }
    }
    const { add, cache, dropped } = cacheFor(1000);
    for (let i = 0; i < 1000; i++) add(String(i));
    for (let i = 0; i < 500; i++) cache.get(String(i));
    for (let i = 1000; i < 3000; i++) {
      add(String(i), new Watched(Buffer.alloc(BODY), JSON_TYPE, { lastModified: new Date(0), head: '' }));
    }
    expect(dropped().length).to.be.greaterThan(2000);
    expect(looks).to.be.lessThan(4 * 2000);
  });

  it('does not keep a response larger than the budget', () => {
    const { add, cache, dropped } = cacheFor(0.5);
    add('a');
    expect([cache.size, cache.bytes, dropped()]).to.deep.equal([0, 0, ['a']]);
  });

  it('counts encodings as soon as they are added, unless the response has been dropped', async () => {
    const { add, cache, dropped } = cacheFor(100);
    const [first, second] = [responseOf(20 * BYTES), responseOf(80 * BYTES - 2 * (1 + ENTRY_OVERHEAD))];
    add('a', first);
    add('b', second);
    expect([cache.bytes, dropped()]).to.deep.equal([100 * BYTES, []]);
    const { size } = await second.encoding('gzip');
    expect(size).to.be.greaterThan(0);
    expect(dropped()).to.deep.equal(['a']);
    expect(cache.bytes).to.equal(80 * BYTES - (1 + ENTRY_OVERHEAD) + size);
    await first.encoding('gzip');
    expect(cache.bytes).to.equal(80 * BYTES - (1 + ENTRY_OVERHEAD) + size);
  });

  it('lists responses by use, most used first', () => {
    const { add, cache, hottest } = cacheFor(3);
    for (const shape of 'abc') add(shape);
    for (const shape of 'cca') cache.get(shape);
    expect(hottest(2)).to.deep.equal(['c', 'a']);
    expect(hottest(9)).to.deep.equal(['c', 'a', 'b']);
    expect(hottest(0)).to.deep.equal([]);
  });

  it('computes a response once for concurrent requests, and again after a failure', async () => {
    const { cache } = cacheFor(3);
    let computed = 0;
    const compute = async () => {
      if (++computed === 1) throw new Error('not yet');
      return response();
    };
    const [first, second] = await Promise.allSettled([
      cache.getOrCompute(requestFor('a'), compute),
      cache.getOrCompute(requestFor('a'), compute),
    ]);
    expect([first.status, second.status, computed]).to.deep.equal(['rejected', 'rejected', 1]);
    const found = await cache.getOrCompute(requestFor('a'), compute);
    expect(cache.get('a')).to.equal(found);
    expect(computed).to.equal(2);
  });

  it('computes a response again after the computation has thrown before its first await', async () => {
    const { cache } = cacheFor(3);
    const compute = (): Promise<Representation> => {
      throw new Error('not yet');
    };
    const failed = async () => cache.getOrCompute(requestFor('a'), compute);
    expect(await failed().catch(({ message }) => message)).to.equal('not yet');
    const found = response();
    expect(await cache.getOrCompute(requestFor('a'), async () => found)).to.equal(found);
  });
});

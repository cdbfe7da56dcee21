import { join } from 'node:path';
import { expect } from 'chai';
import { dataRoute, definePlugin } from '../../../core/contracts/plugin.js';
import { openDirectory } from '../../../core/data/directory.js';
import { pageHeaders, pageOf, pageParameters, rowOrder } from '../../../core/routes/pagination.js';
import { findPage } from '../../../core/routes/selection.js';
import { packageRoot } from '../../../core/util/package.js';
import { forecasts } from '../../../plugins/metro/collections.js';
import { HOUSTON } from '../../support/fixture.js';
import { otherAdapters, publishTo } from '../../support/other-adapters.js';
import { registerPlugins } from '../../support/register-plugins.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const BY_MARKET = ['cbsa', 'run_at', 'run_id'] as const;
const schema = {
  type: 'object',
  required: ['data'],
  properties: { data: { type: 'array', items: { title: 'Said', ...forecasts.schema } } },
} as const;
const response = { description: 'Forecasts.', schema, example: { data: [] }, headers: pageHeaders };

const paged = definePlugin({
  name: 'paged',
  version: '1.0.0',
  description: 'Every forecast, in three orders.',
  collections: [forecasts],
  routes: () => [
    dataRoute({
      path: '/paged',
      operationId: 'listPaged',
      summary: 'By run',
      vintages: true,
      parameters: { query: pageParameters },
      response,
      handler: async (page, context) => ({ data: await findPage(context, forecasts, {}, page) }),
    }),
    dataRoute({
      path: '/paged/newest-first',
      operationId: 'listNewest',
      summary: 'By market, in descending order',
      parameters: { query: pageParameters },
      response,
      handler: async (page, context) => ({
        data: await findPage(context, forecasts, { order: BY_MARKET, descending: true }, page),
      }),
    }),
    dataRoute({
      path: '/paged/of/{cbsa}',
      operationId: 'listPagedOf',
      summary: 'Of one market',
      parameters: {
        path: { cbsa: { description: 'The market.', schema: { type: 'string' }, example: HOUSTON } },
        query: pageParameters,
      },
      response,
      handler: async ({ cbsa, ...page }, context) => ({
        data: await findPage(context, forecasts, { order: BY_MARKET, equal: { cbsa } }, page),
      }),
    }),
    dataRoute({
      path: '/undeclared',
      operationId: 'getUndeclared',
      summary: 'Sets a header that is not declared',
      response: { ...response, headers: {} },
      async handler(_input, context) {
        context.setHeader('X-Anything', 'y');
        return { data: [] };
      },
    }),
  ],
});

const place = (...parts: unknown[]): string => Buffer.from(JSON.stringify(parts)).toString('base64url');

describe('findPage(context, collection, query, { limit, after })', function () {
  this.timeout(60_000);
  const sample = join(packageRoot, 'plugins/metro/dataset');
  let service: TestApp;
  const start = (adapter: object) => startTestApp({ config: { adapter }, overrides: { plugins: [{ plugin: paged }] } });
  before(async () => {
    service = await start({ use: 'json', options: { path: sample } });
  });
  after(() => service.close());

  const pagesOf = async (from: TestApp, first: string) => {
    const texts: string[] = [];
    for (let target: string | undefined = first; target !== undefined; ) {
      const { status, text, headers } = await from.get(target);
      expect(status, `${target} ${text.slice(0, 200)}`).to.equal(200);
      const [, reference] = /^<(\?[^>]*)>; rel="next"$/.exec(String(headers['link'])) ?? [];
      texts.push(text);
      target = reference && target.replace(/\?.*/, '') + reference;
    }
    return texts;
  };
  const PAGED = ['/paged', '/paged/newest-first', `/paged/of/${HOUSTON}`];
  const limitOf = (list: string): number => (list.includes('/of/') ? 7 : 97);

  for (const list of PAGED) {
    it(`the pages of GET ${list}?limit= together are the whole list`, async () => {
      const whole = (await service.get(list)).json.data;
      const pages = await pagesOf(service, `${list}?limit=${limitOf(list)}`);
      expect(pages.length)
        .to.equal(Math.ceil(whole.length / limitOf(list)))
        .and.be.above(2);
      expect(pages.flatMap((text) => JSON.parse(text).data)).to.deep.equal(whole);
    });
  }

  it('the last page has no link, even if it is full', async () => {
    const { length } = (await service.get(`/paged/of/${HOUSTON}`)).json.data;
    expect((await service.get(`/paged/of/${HOUSTON}?limit=${length}`)).headers).to.not.have.property('link');
    expect((await service.get(`/paged/of/${HOUSTON}?limit=${length - 1}`)).headers).to.have.property('link');
  });

  for (const [what, target, advice] of [
    [
      'of another order',
      `/paged?after=${place('cbsa,run_at,run_id', '1', '2', 3)}`,
      'belongs to a list in a different order',
    ],
    [
      'in the other direction',
      `/paged/newest-first?after=${place('cbsa,run_at,run_id', '1', '2', 3)}`,
      'a different order',
    ],
    ['of another type', `/paged?after=${place('run_id,cbsa', '1', '2')}`, 'must be copied from the'],
    ['of too few values', `/paged?after=${place('run_id,cbsa', 1)}`, 'must be copied from the'],
    ['of a null', `/paged?after=${place('run_id,cbsa', 1, null)}`, 'must be copied from the'],
    ['of no JSON', '/paged?after=x', 'must be copied from the'],
  ] as const) {
    it(`rejects an "after" ${what}`, async () => {
      const { status, json } = await service.get(target);
      expect([status, json.code, json.details[0].name]).to.deep.equal([400, 'invalid_parameter', 'after']);
      expect(json.error).to.include(advice);
    });
  }

  it('setting an undeclared header is a 500', async () => {
    expect((await service.get('/undeclared')).status).to.equal(500);
  });

  for (const [name, section] of Object.entries(otherAdapters)) {
    it(`${name} has the same pages as json, with as_of too`, async () => {
      const other = await start(await section());
      try {
        const { dataset, manifest } = await openDirectory(sample);
        await publishTo(other, dataset);
        for (const list of PAGED) {
          const first = `${list}?limit=${limitOf(list)}`;
          expect(await pagesOf(other, first), list).to.deep.equal(await pagesOf(service, first));
        }
        const day = manifest.created.slice(0, 10);
        for (const date of [day, '9999-12-31']) {
          const { headers } = await other.get(`/paged?limit=5&as_of=${date}`);
          expect(headers['link']).to.include(`as_of=${date}`);
        }
      } finally {
        await other.close();
      }
    });
  }
});

describe('pages of rows sorted in memory', () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => ({
    id,
    price: id % 11 === 0 ? null : (id * 7919) % 1009,
  }));
  const context = { reference: ({ after }: { readonly after?: unknown }) => String(after), setHeader: () => {} };

  for (const sort of ['price', '-price', '-id'] as const) {
    it(`${sort}: reads every page, each without sorting all rows`, () => {
      const order = rowOrder<(typeof rows)[number]>([sort, 'id']);
      const ids = (page: object) => pageOf(context, rows, order, page).map(({ id }) => id);
      const all = ids({});
      let compared = 0;
      const comparePlaces: typeof order.comparePlaces = (one, other) => {
        compared++;
        return order.comparePlaces(one, other);
      };
      let pages = 0;
      let after: string | undefined;
      const found: number[] = [];
      do {
        const page = after === undefined ? { limit: 997 } : { limit: 997, after };
        after = undefined;
        const setHeader = (_: string, link: string) => {
          after = /^<(.*)>/.exec(link)![1]!;
        };
        found.push(...pageOf({ ...context, setHeader }, rows, { ...order, comparePlaces }, page).map(({ id }) => id));
        pages++;
      } while (after !== undefined);
      expect(found).to.deep.equal(all);
      expect(pages).to.equal(21);
      expect(compared / pages).to.be.below(6 * rows.length);
    });
  }
});

describe('headers that a route declares', () => {
  const errorsOf = (headers: object) => {
    const [route] = paged.routes!({}, {} as never);
    const wrong = { ...route!, response: { ...response, headers } };
    try {
      registerPlugins([{ plugin: { ...paged, routes: () => [wrong] } as never, options: {}, at: 'plugins/0' }]);
      return '';
    } catch (error) {
      return String((error as Error).message);
    }
  };
  const header = { description: 'Something.', example: 'x' };

  for (const [headers, error] of [
    [{ 'Bad Name': header }, 'response header "Bad Name" must be a name like Link'],
    [{ etag: header }, 'response header "etag" is set by the framework'],
    [{ 'Set-Cookie': header }, 'response header "Set-Cookie" is set by the framework'],
    [{ 'Content-Type': header }, 'response header "Content-Type" is set by the framework'],
    [{ Deflator: { description: 'x' } }, 'response header "Deflator": "example" is missing'],
  ] as const) {
    it(`${JSON.stringify(headers)} is rejected at startup`, () => expect(errorsOf(headers)).to.include(error));
  }

  it('other headers are accepted', () => expect(errorsOf({ Deflator: header })).to.not.include('header'));
});

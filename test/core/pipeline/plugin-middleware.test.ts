import { expect } from 'chai';
import type { Middleware } from 'koa';
import { definePlugin, serviceRoute } from '../../../core/contracts/plugin.js';
import { ApiError, errors } from '../../../core/errors.js';
import { type KeptLogger, keptLogger } from '../../support/kept-logger.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const faults: Readonly<Record<string, Error>> = {
  own: new ApiError(errors.not_acceptable, 'Not so.', { headers: { 'X-Own': 'kept' } }),
  headers: new ApiError(errors.not_acceptable, 'Not so.', { headers: { 'X-Own': 'one\r\nX-Other: two' } }),
  other: new Error('nothing that a client may see'),
};

const middleware: Middleware = async (ctx, next) => {
  const fault = faults[ctx.path.split('/').at(-1)!];
  if (fault) throw fault;
  if (ctx.path.endsWith('/silent')) return await next();
  ctx.set('X-Own', 'set before');
  await next();
};

const plugin = definePlugin({
  name: 'with-middleware',
  version: '1.0.0',
  description: 'Has middleware.',
  middleware: () => [middleware],
  routes: () => [
    serviceRoute({
      path: '/things/{name}',
      operationId: 'getThing',
      summary: 'A thing',
      parameters: { path: { name: { description: 'Its name.', schema: { type: 'string' } } } },
      response: { description: 'It.', schema: { type: 'object' }, example: {} },
      check: ({ name }) => {
        if (name === 'gone') throw Object.assign(new Error('It moved out.'), { status: 410, expose: true });
      },
      handler: async () => ({ thing: true }),
    }),
  ],
});

describe("a plugin's own middleware", () => {
  let service: TestApp;
  let logger: KeptLogger;
  beforeEach(async () => {
    logger = keptLogger();
    service = await startTestApp({ overrides: { plugins: [{ plugin }], logger } });
  });
  afterEach(() => service.close());

  it('adds headers to the common ones', async () => {
    const { status, json, headers } = await service.get('/things/any');
    expect([status, json]).to.deep.equal([200, { thing: true }]);
    expect(headers).to.include({ 'x-own': 'set before', 'x-content-type-options': 'nosniff' });
    expect(headers).to.include.keys('etag', 'x-request-id', 'ratelimit', 'date');
  });

  it('may do nothing', async () => {
    const { status, json, headers } = await service.get('/things/silent');
    expect([status, json]).to.deep.equal([200, { thing: true }]);
    expect(headers).to.not.have.property('x-own');
  });

  it('can throw errors of the API with headers', async () => {
    const { status, json, headers } = await service.get('/things/own');
    expect([status, json]).to.deep.equal([406, { error: 'Not so.', code: 'not_acceptable' }]);
    expect(headers).to.include({ 'x-own': 'kept' });
  });

  it('does not change the status of an HTTP error that `check` throws', async () => {
    const { status, json } = await service.get('/things/gone');
    expect([status, json]).to.deep.equal([410, { error: 'It moved out.', code: 'gone' }]);
  });

  for (const [name, what] of Object.entries({ headers: 'one whose headers none may have', other: 'something else' })) {
    it(`gives an internal error when it throws ${what}`, async () => {
      const { status, json, headers } = await service.get(`/things/${name}`);
      expect([status, json.code]).to.deep.equal([500, 'internal_error']);
      expect(headers).to.not.have.any.keys('x-own', 'x-other');
      expect(logger.lines.filter((line) => line === 'error: a request failed')).to.have.length(1);
      expect((await service.get('/things/silent')).status).to.equal(200);
    });
  }
});

import { expect } from 'chai';
import { isFrameworkHeader, responseHeaders } from '../../core/header-table.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

/** The OpenAPI document omits headers for the connection, the body and browser policies. */
const UNDOCUMENTED =
  /^(access-control-.*|connection|content-.*|cross-origin-resource-policy|date|keep-alive|referrer-policy|x-content-type-options)$/;

describe('responseHeaders', () => {
  let service: TestApp;

  before(async () => {
    service = await startTestApp();
  });
  after(() => service.close());

  it('contains the headers of a 200, 304, 400, 401, 405 and 429, and of a shared response', async () => {
    const documented = Object.keys(responseHeaders).map((name) => name.toLowerCase());
    const { key } = await service.newKey({ limit_per_minute: 1 });
    const limited = { headers: { Authorization: `Bearer ${key}` } };
    const { headers } = await service.get('/markets');
    const responses = [
      await service.get('/markets'),
      await service.get('/markets', { headers: { 'If-None-Match': headers.etag! } }),
      await service.get('/markets?nothing=1'),
      await service.get('/markets', { headers: { Authorization: 'Bearer none' } }),
      await service.get('/markets', { method: 'PUT' }),
      await service.get('/markets', limited),
      await service.get('/markets', limited),
      await service.get('/status'),
    ];
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 304, 400, 401, 405, 200, 429, 200]);
    const sent = new Set(responses.flatMap((response) => Object.keys(response.headers)));
    expect([...sent].filter((name) => !UNDOCUMENTED.test(name))).to.have.members(documented);
    expect([...sent].filter((name) => !isFrameworkHeader(name))).to.deep.equal([]);
  });
});

/** Tests the endpoint of the plugin in a service with the configuration of this package. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createApp, loadConfig } from 'metro-forecast-api';

describe('{{name}}', () => {
  /** @type {import('metro-forecast-api').App} */
  let app;
  before(async () => {
    const path = fileURLToPath(new URL('../metro-forecast.json', import.meta.url));
    app = await createApp(
      await loadConfig({ path, env: { METRO__LOG__LEVEL: 'error', METRO__HTTP__RESPONSE_CHECK: 'refuse' } }),
    );
  });
  after(() => app?.close());

  /** Makes an in-process request, which does not require a key. */
  const get = async (/** @type {string} */ target) => {
    const { status, body } = await app.local.request(target);
    return { status, body: JSON.parse(body) };
  };

  it('responds with the rows of one station', async () => {
    const { status, body } = await get('/{{name}}/oslo');
    assert.equal(status, 200);
    assert.deepEqual(
      body.data.map((/** @type {{ value: number }} */ { value }) => value),
      [10, 11],
    );
  });

  it('starts at the month given by the parameter since', async () => {
    const { body } = await get('/{{name}}/oslo?since=2025-11-01');
    assert.deepEqual(body, { data: [{ station: 'oslo', month: '2025-11-01', value: 11 }] });
  });

  it('responds with 404 for an unknown station and 400 for a malformed name', async () => {
    const { status, body } = await get('/{{name}}/rome');
    assert.deepEqual([status, body.code], [404, '{{collection}}_not_found']);
    assert.equal((await get('/{{name}}/42')).status, 400);
  });

  it('needs a key over HTTP and is documented', async () => {
    assert.equal((await app.inject('/api/v1/{{name}}/oslo')).statusCode, 401);
    const document = JSON.parse((await app.local.request('/openapi.json')).body);
    assert.ok(document.paths['/{{name}}/{station}']);
  });
});

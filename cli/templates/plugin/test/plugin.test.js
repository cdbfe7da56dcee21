/** Serves the plugin as its own configuration says, and asks it. */
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
      await loadConfig({ path, env: { METRO__LOG__LEVEL: 'silent', METRO__HTTP__RESPONSE_CHECK: 'refuse' } }),
    );
  });
  after(() => app?.close());

  /** Asks within this process, where no key is needed. */
  const get = async (/** @type {string} */ target) => {
    const { status, body } = await app.local.request(target);
    return { status, body: JSON.parse(body) };
  };

  it('answers with the rows of one metro', async () => {
    const { status, body } = await get('/{{name}}/26420');
    assert.equal(status, 200);
    assert.deepEqual(
      body.data.map((/** @type {{ value: number }} */ { value }) => value),
      [10, 11],
    );
  });

  it('begins where it is told to', async () => {
    const { body } = await get('/{{name}}/26420?since=2025-11-01');
    assert.deepEqual(body, { data: [{ cbsa: '26420', month: '2025-11-01', value: 11 }] });
  });

  it('refuses what it does not know', async () => {
    const { status, body } = await get('/{{name}}/99999');
    assert.deepEqual([status, body.code], [404, '{{collection}}_not_found']);
    assert.equal((await get('/{{name}}/Houston')).status, 400);
  });

  it('needs a key over HTTP, and is in the documentation', async () => {
    assert.equal((await app.inject('/api/v1/{{name}}/26420')).statusCode, 401);
    const document = JSON.parse((await app.local.request('/openapi.json')).body);
    assert.ok(document.paths['/{{name}}/{cbsa}']);
  });
});

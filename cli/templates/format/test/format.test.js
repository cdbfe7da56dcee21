/** Tests the format in a service with the configuration of this package. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createApp, loadConfig } from 'metro-forecast-api';

describe('{{name}}', () => {
  /** @type {import('metro-forecast-api').App} */
  let app;
  before(async () => {
    const path = fileURLToPath(new URL('../metro-forecast.json', import.meta.url));
    app = await createApp(await loadConfig({ path, env: { METRO__LOG__LEVEL: 'error' } }));
  });
  after(() => app?.close());

  it('writes a header and one line per row', async () => {
    const { status, headers, body } = await app.local.request('/readings?format={{name}}');
    assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8']);
    const lines = body.split('\n');
    assert.equal(lines[1], '<tr><th>station</th><th>month</th><th>value</th></tr>');
    assert.equal(lines.filter((line) => line.startsWith('<tr><td>')).length, 3);
  });

  it('is selected by the Accept header, and is documented', async () => {
    const { headers } = await app.local.request('/readings', { headers: { accept: 'text/html' } });
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    const document = JSON.parse((await app.local.request('/openapi.json')).body);
    assert.ok(document.paths['/readings'].get.responses['200'].content['text/html']);
  });
});

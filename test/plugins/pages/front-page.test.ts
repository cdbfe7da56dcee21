/** Tests the front page at `/` over HTTP. */
import { expect } from 'chai';
import { request } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

describe('GET /', () => {
  let service: TestApp;
  const get = (accept?: string, headers: Record<string, string> = {}) =>
    request(`${service.origin}/`, { headers: { ...(accept !== undefined && { Accept: accept }), ...headers } });

  before(async () => {
    service = await startTestApp({
      config: {
        service: { title: 'A & <B>', summary: 'All of it.', termsOfService: 'https://example.com/terms' },
        plugins: ['markets', 'forecasts', 'observations', 'signals', 'status', 'docs', 'explore'],
      },
    });
  });
  after(() => service.close());

  for (const accept of ['application/json', '*/*', undefined]) {
    it(`links to the pages, the document, the status and the terms, Accept: ${accept}`, async () => {
      const { status, json, headers } = await get(accept);
      expect(status).to.equal(200);
      expect(headers['content-type']).to.equal('application/json; charset=utf-8');
      expect(headers['vary']).to.include('Accept');
      expect(json).to.deep.include({ title: 'A & <B>', version: '1.0.0', summary: 'All of it.' });
      expect(json.links.map(({ rel, href }: { rel: string; href: string }) => [rel, href])).to.deep.equal([
        ['service-doc', '/docs'],
        ['service-doc', '/explore'],
        ['service-doc', '/docs/calling'],
        ['service-doc', '/docs/vintages'],
        ['service-doc', '/docs/methodology'],
        ['service-doc', '/docs/csv'],
        ['status', '/api/v1/status'],
        ['service-desc', '/api/v1/openapi.json'],
        ['terms-of-service', 'https://example.com/terms'],
      ]);
      for (const { href } of json.links.slice(0, -1)) {
        expect((await request(`${service.origin}${href}`)).status, href).to.equal(200);
      }
    });
  }

  it('is HTML for browsers, with escaped texts and a policy that forbids scripts', async () => {
    const { status, text: page, headers } = await get('text/html,application/xhtml+xml,*/*;q=0.8');
    expect(status).to.equal(200);
    expect(headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(headers['content-security-policy']).to.match(/^default-src 'none'; style-src 'sha256-/);
    expect(page).to.include('<title>A &amp; &lt;B&gt;</title>').and.include('href="/docs"');
    expect(page).to.not.include('<B>');
  });

  it('responds with 304 to its ETag, and with 406 to other media types', async () => {
    const { headers } = await get('text/html');
    expect((await get('text/html', { 'If-None-Match': String(headers['etag']) })).status).to.equal(304);
    const { status, json } = await get('image/png');
    expect([status, json.code]).to.deep.equal([406, 'not_acceptable']);
  });

  for (const path of ['/nowhere', '//', '//docs', '/index.html']) {
    it(`GET ${path} is a 404 route_not_found`, async () => {
      const { status, json } = await request(`${service.origin}${path}`);
      expect([status, json.code]).to.deep.equal([404, 'route_not_found']);
    });
  }
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../../core/util/package.js';
import { request } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

/** Browsers send this `Accept` header when a user opens an address. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('errors in a browser', () => {
  let service: TestApp;
  const get = (target: string, { accept = BROWSER, method = 'GET', headers = {} } = {}) =>
    request(`${service.origin}${target}`, { method, headers: { Accept: accept, ...headers } });

  before(async () => {
    service = await startTestApp({
      config: {
        service: { title: 'A & <B>' },
        plugins: ['markets', 'docs'],
        server: { trustProxy: 1 },
      },
    });
  });
  after(() => service.close());

  it('has the colours of the other pages', async () => {
    const tokens = await readFile(join(packageRoot, 'core/pages/shared/tokens.css'), 'utf8');
    const { text } = await get('/nowhere');
    const colours = [...text.matchAll(/--[\w-]+: light-dark\([^)]*\)/g)].map(([colour]) => colour);
    expect(colours).to.have.length(4);
    for (const colour of colours) expect(tokens).to.include(`${colour};`);
  });

  for (const [target, text] of [
    ['/nowhere', 'There is no page at this address.'],
    ['/docs/nowhere.css', 'There is no such file. The page is at /docs.'],
  ] as const) {
    it(`GET ${target} is a page with the same status as the JSON`, async () => {
      const { status, headers, text: page } = await get(target);
      expect([status, headers['content-type'], headers['cache-control']]).to.deep.equal([
        404,
        'text/html; charset=utf-8',
        'no-store',
      ]);
      expect(page).to.include(`<p>${text}</p>`).and.include('<title>Not found – A &amp; &lt;B&gt;</title>');
      expect(page).to.include('<a href="/">').and.not.include('<B>');
      expect((await get(target, { accept: '*/*' })).json.code).to.equal('route_not_found');
    });
  }

  for (const [target, advice] of [
    ['/api/v1/markets/', 'Remove the slash at its end.'],
    ['/api/v1/markets/26420/', 'Remove the slash at its end.'],
    ['/markets', 'Endpoints are under /api/v1.'],
    ['/markets/26420/history/', 'Endpoints are under /api/v1.'],
    ['/api/v1/markets//', 'openapi.json lists all endpoints.'],
    ['/api/v1/market', 'openapi.json lists all endpoints.'],
  ] as const)
    it(`GET ${target} → ${advice}`, async () => {
      const { status, json } = await get(target, { accept: '*/*' });
      expect([status, json.error]).to.deep.equal([404, `There is nothing at this address. ${advice}`]);
    });

  it('links to the front page under the path of a trusted proxy', async () => {
    const { text } = await get('/nowhere', { headers: { 'X-Forwarded-Prefix': '/data' } });
    expect(text).to.include('<a href="/data/">');
  });

  it('links to the pages, but not to guides', async () => {
    const { text } = await get('/nowhere');
    const links = [...text.matchAll(/<a href="([^"]+)">([^<]+)</g)].map(([, href, name]) => [href, name]);
    expect(links).to.deep.include.members([
      ['/', 'Front page'],
      ['/docs', 'API reference'],
    ]);
    expect(links.map(([href]) => href))
      .to.include('/sign-in')
      .and.not.include('/docs/csv');
  });

  it('does not link to the sign-in page if callers need no key', async () => {
    const config = {
      auth: { keys: 'memory', tiers: { open: { requestsPerMinute: 100 } }, anonymous: 'open' },
      plugins: ['markets', 'docs'],
    };
    const open = await startTestApp({ config });
    const { text } = await request(`${open.origin}/nowhere`, { headers: { Accept: BROWSER } }).finally(() =>
      open.close(),
    );
    expect(text).to.include('<a href="/docs">').and.not.include('/sign-in');
  });

  it('has a policy that allows only its style', async () => {
    const { headers } = await get('/nowhere');
    expect(headers['content-security-policy']).to.match(
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
  });

  it('has the headers of GET for HEAD', async () => {
    const [whole, head] = [await get('/nowhere'), await get('/nowhere', { method: 'HEAD' })];
    expect([head.status, head.text]).to.deep.equal([404, '']);
    for (const name of ['content-type', 'content-length']) expect(head.headers[name]).to.equal(whole.headers[name]);
  });

  for (const [what, limits, text] of [
    ['a rate limit', { requestsPerMinute: 1 }, /<p>Too many requests\. Try again in (a second|\d+ seconds)\.<\/p>/],
    [
      'a quota',
      { requestsPerMinute: 9, requestsPerDay: 1 },
      /<p>The request quota is used up\. Try again in \d+ seconds/,
    ],
  ] as const) {
    it(`is a page for a caller who reaches ${what}`, async () => {
      const auth = { keys: 'memory', tiers: { open: limits }, anonymous: 'open' };
      const open = await startTestApp({ config: { auth, plugins: ['markets', 'docs'] } });
      try {
        const get = () => request(`${open.origin}/docs`, { headers: { Accept: BROWSER } });
        expect((await get()).status).to.equal(200);
        const { status, headers, text: html } = await get();
        expect([status, headers['content-type']]).to.deep.equal([429, 'text/html; charset=utf-8']);
        expect(Number(headers['retry-after'])).to.be.above(0);
        expect(headers['ratelimit']).to.include('r=0');
        expect(headers['content-security-policy']).to.include('style-src');
        expect(html).to.match(text);
      } finally {
        await open.close();
      }
    });
  }

  for (const [what, target, options] of [
    ['below the base path', '/api/v1/nowhere', {}],
    ['for other methods', '/nowhere', { method: 'POST' }],
    ['without an Accept header for HTML', '/nowhere', { accept: 'application/json' }],
    ['if HTML is only the second choice', '/nowhere', { accept: 'application/json, text/html;q=0.5' }],
  ] as const) {
    it(`is JSON ${what}`, async () => {
      const { status, json } = await get(target, options);
      expect([status, json.code]).to.deep.equal([404, 'route_not_found']);
    });
  }
});

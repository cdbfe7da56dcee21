import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Mount, Plugin } from '../../../core/contracts/plugin.js';
import { packageRoot } from '../../../core/util/package.js';
import * as fixture from '../../support/fixture.js';
import { request } from '../../support/http-client.js';
import { startTableService } from '../../support/table-service.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';
import { open, PLUGINS } from './public-service.js';

const htmlOf = async (origin: string, headers: Record<string, string> = {}) =>
  request(`${origin}/`, { headers: { Accept: 'text/html', ...headers } });

describe('GET /', () => {
  let service: TestApp;
  const get = (accept?: string, headers: Record<string, string> = {}) =>
    request(`${service.origin}/`, { headers: { ...(accept !== undefined && { Accept: accept }), ...headers } });

  before(async () => {
    service = await startTestApp({
      config: {
        service: { title: 'A & <B>', summary: 'All of it.', termsOfService: 'https://example.com/terms' },
        plugins: PLUGINS,
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
        ['service-doc', '/docs/spreadsheets'],
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

describe('the front page of a service that needs no key', () => {
  let service: TestApp;

  before(async () => {
    service = await startTestApp({ config: { plugins: PLUGINS, ...open({ requestsPerMinute: 120 }) } });
  });
  after(() => service.close());

  it('has findings, a map with links, a search form, the limits and the picture for shared links', async () => {
    const { text } = await htmlOf(service.origin);
    expect(text).to.match(/House prices rose \d+\.\d% in the year to \d{4} Q\d in the (median metro|United States)/);
    expect(text).to.contain('<a href="/explore#/markets/26420" tabindex="-1">');
    expect(text, 'metros without a forecast').to.contain('<g fill="var(--none)" stroke="var(--control)"');
    expect(text).to.contain('<form action="/explore" class="search">');
    expect(text.match(/<header.*?<\/header>/s)?.[0])
      .to.contain('<a href="/explore#/compare">Compare</a>')
      .and.contain('<a href="/explore#/status">Status</a>');
    expect(text).to.contain('You can read without a key, up to 120 requests per minute.');
    expect(text).to.contain('<meta property="og:image" content="/front-page.png">');
    const picture = await request(`${service.origin}/front-page.png`);
    expect(picture.headers['content-type']).to.equal('image/png');
    expect(picture.bytes.subarray(1, 4).toString()).to.equal('PNG');
    expect([picture.bytes.readUInt32BE(16), picture.bytes.readUInt32BE(20)]).to.deep.equal([1200, 630]);
  });

  it('weighs at most 60 kB without the map', async () => {
    const { text } = await htmlOf(service.origin);
    expect(Buffer.byteLength(text.replace(/<figure.*<\/figure>/s, ''))).to.be.below(60_000);
  });

  it('keeps its ETag until something changes, and answers HEAD and If-None-Match', async () => {
    const { headers } = await htmlOf(service.origin);
    const again = await htmlOf(service.origin, { 'If-None-Match': String(headers['etag']) });
    expect(again.status).to.equal(304);
    const head = await request(`${service.origin}/`, { method: 'HEAD', headers: { Accept: 'text/html' } });
    expect([head.status, head.text, head.headers['etag']]).to.deep.equal([200, '', headers['etag']]);
  });
});

describe('the front page and the tier of callers without a key', () => {
  for (const [what, config, key] of [
    ['no tier', {}, false],
    ['a tier without the endpoints', open({ requestsPerMinute: 120, endpoints: ['vintages', '/series'] }), false],
    ['no tier, even for a caller with a key', {}, true],
  ] as const) {
    it(`shows no figures with ${what}`, async () => {
      const service = await startTestApp({ config: { plugins: [...PLUGINS, 'vintages'], ...config } });
      try {
        const { text, status } = await htmlOf(service.origin, key ? { Authorization: `Bearer ${service.key}` } : {});
        expect(status).to.equal(200);
        expect(text).to.contain('Metro Forecast API').and.contain('Published data').and.contain('href="/sign-in"');
        expect(text).not.to.match(/<figure|class="findings"|og:image|id="q"/);
        expect((await request(`${service.origin}/front-page.png`)).status).to.equal(404);
      } finally {
        await service.close();
      }
    });
  }

  it('links to the page where callers get a key', async () => {
    const getKeyUrl = 'https://example.com/keys';
    const service = await startTestApp({ config: { plugins: PLUGINS, service: { getKeyUrl } } });
    try {
      expect((await htmlOf(service.origin)).text).to.contain(`href="${getKeyUrl}"`);
    } finally {
      await service.close();
    }
  });
});

describe('the map on the front page', () => {
  it('has a legend with both limits of the only class if all forecasts are the same', async () => {
    const markets = (fixture.documents['markets'] ?? []).map((market) => ({ ...market, forecast_12m: 1.2 }));
    const collections = { ...fixture.documents, markets };
    const service = await startTestApp({ collections, config: { plugins: PLUGINS, ...open() } });
    try {
      const { text } = await htmlOf(service.origin);
      const [, legend = ''] = /<ul class="legend">(.*?)<\/ul>/s.exec(text) ?? [];
      expect(legend.replace(/<[^>]+>/g, '').trim()).to.equal('1 to 1.5%');
    } finally {
      await service.close();
    }
  });
});

const METRO_WORDS = /metro|house price|cbsa|forecast|markets/i;

describe('the front page of tables', () => {
  it('links guides without a word about metros', async () => {
    const service = await startTestApp({ config: { plugins: ['status', 'docs'] } });
    try {
      const reference = await request(`${service.origin}/docs`, { headers: { Accept: 'text/html' } });
      const guides = [...reference.text.matchAll(/data-document="([^"]+)"/g)].map(([, name]) => name!);
      expect(guides).to.include('reference/formats.md');
      for (const guide of guides) {
        expect(await readFile(join(packageRoot, 'docs', guide), 'utf8'), guide).not.to.match(METRO_WORDS);
      }
    } finally {
      await service.close();
    }
  });

  it('shows tables, rows, the newest date and a chart, without a word about metros', async () => {
    const service = await startTableService({ anonymous: true });
    try {
      const { text } = await htmlOf(service.origin);
      expect(text).to.contain('6,003 rows in 2 tables.');
      expect(text).to.contain('<strong>2025-06-22</strong>');
      expect(text).to.contain('<a href="/tables#/status">Details</a>');
      expect(text).to.contain('<a href="/tables#/books">Books</a><span>4 rows, 5 columns. Latest: 1859</span>');
      expect(text).to.match(
        /<h2 id="figure">Weather: mean degrees per month<\/h2><\/figcaption>\s*<p class="hidden-text">Bar chart of \d+ periods.*?<\/p>\s*<svg/,
      );
      expect(text).to.contain('The latest date in the column “Day” of weather is 22 June 2025.');
      expect(text).not.to.match(METRO_WORDS);
    } finally {
      await service.close();
    }
  });
});

describe('the front page and contributions of plugins', () => {
  const page = (frontPage: Mount['frontPage']): Plugin => ({
    kind: 'plugin',
    name: 'tides',
    version: '1.0.0',
    description: 'Tides.',
    routes: () => [],
    mounts: () => [
      {
        path: '/tides',
        summary: 'Tides',
        page: 'main',
        ...(frontPage && { frontPage }),
        handler: (ctx) => {
          ctx.body = 'tides';
        },
      },
    ],
  });
  const show = async (frontPage: Mount['frontPage']) => {
    const service = await startTestApp({
      config: { plugins: ['status'], service: { title: 'Tides' } },
      overrides: { plugins: [{ plugin: page(frontPage) }] },
    });
    try {
      return await htmlOf(service.origin);
    } finally {
      await service.close();
    }
  };

  it('shows what a plugin contributes, with all texts escaped', async () => {
    const { text } = await show(async ({ get }) => ({
      findings: [{ figure: '<7 m', sentence: `The service is ${(await get('/status')).status}.`, href: '/tides#high' }],
      figure: {
        title: 'High & low',
        description: 'Two tides.',
        drawing: { width: 10, height: 5, shapes: [{ path: 'M0,0h10v5z', fill: 'accent', title: '"High"' }] },
        note: 'In metres.',
        href: '/tides',
      },
      views: [{ title: 'High & low', href: '/tides#both' }],
    }));
    expect(text).to.contain('<strong>&lt;7 m</strong>').and.contain('<a href="/tides#high">The service is ');
    expect(text).to.contain('High &amp; low').and.contain('<title>&quot;High&quot;</title>');
    expect(text).to.contain('<g fill="var(--accent)"><path d="M0,0h10v5z">');
    expect(text).to.contain('<a href="/tides#both">High &amp; low</a>');
  });

  it('names the month in which an update of the figure was due', async () => {
    const figureOf = (...sources: string[]) => ({
      ...{ title: 'Tides', description: 'Two tides.', drawing: { width: 10, height: 5, shapes: [] } },
      ...{ note: 'In metres.', href: '/tides', sources },
    });
    const at = async (now: string, source: string) => {
      const time = Date.parse(now);
      const service = await startTestApp({
        config: { plugins: ['status'] },
        manifest: { ...fixture.manifest, synthetic: false },
        overrides: {
          clock: { now: () => time, monotonic: () => time },
          plugins: [{ plugin: page(async () => ({ figure: figureOf(source) })) }],
        },
      });
      try {
        return (await htmlOf(service.origin)).text;
      } finally {
        await service.close();
      }
    };
    const note = 'An update of the data was due in April 2026.';
    expect(await at('2026-07-01T00:00:00Z', 'hpi')).to.contain(note);
    expect(await at('2026-02-01T00:00:00Z', 'hpi')).not.to.contain('was due');
    expect(await at('2026-07-01T00:00:00Z', 'other')).not.to.contain('was due');
  });

  it('asks each plugin once per snapshot, even if a proxy serves the page under several paths', async () => {
    let calls = 0;
    const counted: Mount['frontPage'] = async () => {
      calls += 1;
      return {};
    };
    const service = await startTestApp({
      config: { plugins: ['status'], server: { trustProxy: 1 } },
      overrides: { plugins: [{ plugin: page(counted) }] },
    });
    try {
      for (const prefix of ['/lib', '/other', '/lib']) {
        const { text } = await htmlOf(service.origin, { 'X-Forwarded-Prefix': prefix });
        expect(text).to.contain(`href="${prefix}/sign-in"`);
      }
      expect(calls).to.equal(1);
    } finally {
      await service.close();
    }
  });

  it('is complete without the contribution of a plugin that fails', async () => {
    const { status, text } = await show(() => Promise.reject(new Error('no tides')));
    expect(status).to.equal(200);
    expect(text).to.contain('Get the data').and.not.contain('class="findings"');
  });
});

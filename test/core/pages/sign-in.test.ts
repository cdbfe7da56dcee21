import { expect } from 'chai';
import { oneTimeCode } from '../../../cli/one-time-code.js';
import { accessibilityProblems, BROWSED, openBrowser, type TestBrowser } from '../../support/browser.js';
import { HOUSTON } from '../../support/fixture.js';
import { request } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';
import { open, PLUGINS } from './public-service.js';

describe('a one-time code', () => {
  let service: TestApp;
  const codes = oneTimeCode();
  const redeem = (code: string, headers: Record<string, string> = {}) =>
    request(`${service.origin}/one-time-code`, { method: 'POST', headers: { 'One-Time-Code': code, ...headers } });

  before(async () => {
    service = await startTestApp({ overrides: { plugins: [{ plugin: codes.plugin }] } });
  });
  after(() => service.close());

  it('returns the key once, and forbids caching it', async () => {
    const code = codes.issue('mfk_secret');
    const { status, json, headers } = await redeem(code);
    expect([status, json]).to.deep.equal([200, { key: 'mfk_secret' }]);
    expect(headers['cache-control']).to.equal('no-store');
    expect((await redeem(code)).status).to.equal(401);
  });

  it('is not accepted from a page of another origin', async () => {
    const code = codes.issue('mfk_secret');
    expect((await redeem(code, { 'Sec-Fetch-Site': 'cross-site' })).status).to.equal(401);
    const preflight = await request(`${service.origin}/one-time-code`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' },
    });
    expect(String(preflight.headers['access-control-allow-headers']).toLowerCase()).not.to.contain('one-time-code');
    expect((await redeem(code)).status).to.equal(200);
  });

  it('is rejected if it is wrong, missing or in the address', async () => {
    const code = codes.issue('mfk_secret');
    expect((await redeem(`${code}x`)).status).to.equal(401);
    expect((await request(`${service.origin}/one-time-code`, { method: 'POST' })).status).to.equal(401);
    expect((await request(`${service.origin}/one-time-code?code=${code}`, { method: 'POST' })).status).to.equal(401);
    expect((await request(`${service.origin}/one-time-code`)).status).to.equal(405);
  });

  it('expires', async () => {
    const expired = oneTimeCode(0);
    const other = await startTestApp({ overrides: { plugins: [{ plugin: expired.plugin }] } });
    try {
      const headers = { 'One-Time-Code': expired.issue('mfk_secret') };
      expect((await request(`${other.origin}/one-time-code`, { method: 'POST', headers })).status).to.equal(401);
    } finally {
      await other.close();
    }
  });
});

describe('signing in with a browser', function () {
  this.timeout(60_000);
  const codes = oneTimeCode();
  let service: TestApp;
  let browser: TestBrowser;

  before(async function () {
    service = await startTestApp({
      config: {
        plugins: ['docs', ...PLUGINS.filter((name) => name !== 'docs')],
        server: BROWSED,
        service: { getKeyUrl: 'https://example.com/keys' },
      },
      overrides: { plugins: [{ plugin: codes.plugin }] },
    });
    browser = await openBrowser(this, { origin: service.origin });
  });
  beforeEach(async () => {
    await browser.page.goto(`${service.origin}/sign-in`);
    await browser.page.evaluate('localStorage.clear(); sessionStorage.clear()');
  });
  after(async () => {
    await browser?.close();
    await service?.close();
  });

  const enterKey = async (remember: boolean) => {
    const { page } = browser;
    await page.goto('about:blank');
    await page.goto(`${service.origin}/explore#/markets/${HOUSTON}`);
    await page.getByRole('link', { name: 'Get a key' }).waitFor();
    await page.getByLabel('API key').fill(service.key);
    await page.getByLabel('Remember the key in this browser').setChecked(remember);
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByRole('heading', { level: 1, name: 'Houston' }).waitFor();
    expect(page.url()).to.contain(`#/markets/${HOUSTON}`);
  };

  it('needs JavaScript, and the pages say so instead of loading forever', async function () {
    const { page, close } = await openBrowser(this, { origin: service.origin, javaScriptEnabled: false });
    try {
      for (const path of ['/explore', '/docs', '/docs/csv', '/sign-in']) {
        await page.goto(`${service.origin}${path}`);
        const notice = await page.locator('noscript .notice').boundingBox();
        expect(notice!.x, path).to.be.at.least(16);
        expect(await page.locator('main').isVisible(), path).to.equal(false);
      }
    } finally {
      await close();
    }
  });

  it('is needed once per browser, and a shared link keeps its view', async () => {
    await enterKey(true);
    const tab = await browser.page.context().newPage();
    try {
      await tab.goto(`${service.origin}/explore#/markets/${HOUSTON}`);
      await tab.getByRole('heading', { level: 1, name: 'Houston' }).waitFor();
    } finally {
      await tab.close();
    }
  });

  it('ends with the tab if the reader does not want the browser to remember the key', async () => {
    await enterKey(false);
    const tab = await browser.page.context().newPage();
    try {
      await tab.goto(`${service.origin}/explore#/markets/${HOUSTON}`);
      await tab.getByLabel('API key').waitFor();
    } finally {
      await tab.close();
    }
  });

  it('works with a one-time code, which does not stay in the address or in the history', async () => {
    const { page } = browser;
    const code = codes.issue(service.key);
    await page.goto('about:blank');
    await page.goto(`${service.origin}/sign-in#${code}`);
    await page.waitForURL((url) => url.pathname !== '/sign-in');
    expect(new URL(page.url()).pathname, 'the explorer, not the API reference').to.equal('/explore');
    expect(page.url()).not.to.contain(code);
    await page.goto(`${service.origin}/explore#/markets/${HOUSTON}`);
    await page.getByRole('heading', { level: 1, name: 'Houston' }).waitFor();
    await page.goto('about:blank');
    await page.goto(`${service.origin}/sign-in#${code}`);
    await page.getByText('This link has been used or has expired.').waitFor();
    expect(page.url()).to.equal(`${service.origin}/sign-in`);
  });

  it('has a page without an accessibility problem, which prints its address but not its form', async () => {
    const { page } = browser;
    await page.goto(`${service.origin}/sign-in`);
    await page.getByLabel('API key').waitFor();
    expect(await accessibilityProblems(page)).to.deep.equal([]);
    await page.evaluate('dispatchEvent(new Event("beforeprint"))');
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('.on-paper').innerText()).to.contain(`${service.origin}/sign-in`);
    expect(await page.locator('form').isVisible()).to.equal(false);
    await page.emulateMedia({ media: null });
  });
});

describe('pages of a service that needs no key', function () {
  this.timeout(60_000);
  let service: TestApp;
  let browser: TestBrowser;

  before(async function () {
    service = await startTestApp({
      config: { plugins: PLUGINS, server: BROWSED, ...open({ requestsPerMinute: 1200 }) },
    });
    browser = await openBrowser(this, { origin: service.origin });
  });
  after(async () => {
    await browser?.close();
    await service?.close();
  });

  it('show the data of a shared link at once, with a note about the limits', async () => {
    const { page, complaints } = browser;
    await page.goto(`${service.origin}/explore#/markets/${HOUSTON}`);
    await page.getByRole('heading', { level: 1, name: 'Houston' }).waitFor();
    await page.getByText('Without a key, you can make up to 1,200 requests per minute.').waitFor();
    expect(complaints).to.deep.equal([]);
  });

  it('find what was searched for on the front page', async () => {
    const { page, complaints } = browser;
    await page.goto(`${service.origin}/`);
    await page.getByLabel('Find a metro').fill('houston');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.waitForURL(new RegExp(`/explore#/markets/${HOUSTON}$`));
    await page.getByRole('heading', { level: 1, name: 'Houston' }).waitFor();
    await page.goto(`${service.origin}/explore?q=no+such+place`);
    await page.getByRole('heading', { level: 1, name: 'No market matches' }).waitFor();
    await page.getByText('No market matches “no such place”').waitFor();
    expect(complaints).to.deep.equal([]);
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`have a front page without an accessibility problem in ${colorScheme} mode, and without scripts`, async () => {
      const { page, complaints } = browser;
      await page.emulateMedia({ colorScheme });
      await page.goto(`${service.origin}/`);
      expect(await page.locator('figure a').count()).to.be.above(1);
      expect(await page.locator('script:not([type="application/ld+json"])').count()).to.equal(0);
      expect(await accessibilityProblems(page)).to.deep.equal([]);
      expect(complaints).to.deep.equal([]);
    });
  }
});

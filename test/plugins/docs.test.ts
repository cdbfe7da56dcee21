/** The reference page, over HTTP and in Chromium. */
import { expect } from 'chai';
import { accessibilityFaults, BROWSED, openBrowser, type TestBrowser } from '../support/browser.js';
import { HOUSTON } from '../support/fixture.js';
import { request } from '../support/http-client.js';
import { startTestApp, type TestApp } from '../support/test-app.js';
import { describePageFiles } from './page-files.js';

const DATA = ['markets', 'forecasts', 'observations', 'signals', 'status'];

describePageFiles('/docs', 'docs', []);

describe('the reference page', () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp({ config: { plugins: [...DATA, 'docs', 'explore'], server: BROWSED } });
  });
  after(() => app.close());

  it('links to the other pages and to the OpenAPI document', async () => {
    const { text } = await request(`${app.origin}/docs`);
    expect(text).to.contain('<a href="/explore">Explorer</a>').and.contain('download="openapi.json"');
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    describe(`in Chromium, ${colorScheme}`, () => {
      let browser: TestBrowser;
      let loads = 0;
      before(async function () {
        this.timeout(60_000);
        browser = await openBrowser(this, {
          origin: app.origin,
          colorScheme,
          width: colorScheme === 'dark' ? 390 : 1280,
        });
      });
      beforeEach(async () => {
        const { page, complaints } = browser;
        complaints.length = 0;
        await page.goto(`${app.origin}/docs?load=${loads++}`);
        await page.waitForSelector('main h1');
      });
      after(() => browser?.close());

      it('documents every endpoint of the document', async () => {
        const { page, complaints } = browser;
        const { paths } = (await app.get('/openapi.json')).json;
        const routes = await page.locator('main .route').allTextContents();
        expect(routes).to.have.members(Object.keys(paths).map((path) => `GET /api/v1${path}`));
        expect(complaints).to.deep.equal([]);
      });

      it('says what to do where a key is missing, and sends the one that was given', async () => {
        const { page } = browser;
        await page.evaluate('sessionStorage.clear()');
        await page.reload();
        const section = page.locator('section[aria-labelledby=getMarket]');
        const send = section.getByRole('button', { name: 'Send' });
        await send.click();
        await section.getByText('This endpoint needs a key').waitFor();
        browser.complaints.length = 0;
        await page.getByLabel('API key').fill(app.key);
        await page.getByRole('button', { name: 'Use this key' }).click();
        await send.click();
        await section.locator('pre.body', { hasText: '"cbsa"' }).waitFor();
        const shown = JSON.parse(await section.locator('pre.body').innerText());
        expect(shown).to.deep.equal((await app.get(`/markets/${HOUSTON}`)).json);
        expect(page.url()).not.to.contain(app.key);
        expect(await section.innerText()).not.to.contain(app.key);
        expect(browser.complaints).to.deep.equal([]);
      });

      it('shows the answer as CSV where that is chosen', async () => {
        await browser.page.evaluate(`sessionStorage.setItem('metro-forecast-key', '${app.key}')`);
        const section = browser.page.locator('section[aria-labelledby=listMarkets]');
        await section.getByLabel('format').selectOption('csv');
        await section.getByRole('button', { name: 'Send' }).click();
        await section.locator('pre.body', { hasText: 'cbsa' }).waitFor();
        expect(await section.locator('pre.body').textContent()).to.equal((await app.get('/markets?format=csv')).text);
      });

      it('has no serious accessibility fault', async () => {
        await browser.page.evaluate('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
        expect(await accessibilityFaults(browser.page)).to.deep.equal([]);
      });

      it('is not wider than its window', async () => {
        expect(await browser.page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.be.at.most(0);
      });
    });
  }
});

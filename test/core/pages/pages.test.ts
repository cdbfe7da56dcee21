/**
 * Tests the files of the pages, their types, and each view once in Chromium. The `*.long.ts` files test the views in
 * more detail.
 */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../../core/util/package.js';
import { accessibilityProblems, BROWSED, openBrowser, type TestBrowser } from '../../support/browser.js';
import { ATLANTA, HOUSTON } from '../../support/fixture.js';
import { packed } from '../../support/packed.js';
import { describePageFiles } from '../../support/page-files.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';
import { open, PLUGINS } from './public-service.js';

const DATA = ['markets', 'forecasts', 'observations', 'signals', 'status'];

describePageFiles('/explore', 'explore', DATA);
describePageFiles('/docs', 'docs', []);

describe('the pages’ browser code', () => {
  it('passes the type check', async function () {
    this.timeout(60_000);
    const require = createRequire(import.meta.url);
    const compiler = join(require.resolve('typescript/package.json'), '../bin/tsc');
    const project = join(packageRoot, 'plugins');
    const run = promisify(execFile)(process.execPath, [compiler, '-p', project]).catch(({ stdout }) => ({ stdout }));
    expect((await run).stdout).to.equal('');
  });

  it('is part of the package and of its image', async function () {
    this.timeout(60_000);
    const { files } = await packed();
    const folders = [
      ...['shared', 'data-views', 'guides'].map((name) => `core/pages/${name}`),
      ...['docs', 'tables', 'metro/explorer'].map((name) => `plugins/${name}/browser`),
    ];
    const pages = folders.flatMap((folder) =>
      readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.\w+$/.test(name))
        .map((name) => `${folder}/${name}`),
    );
    expect(pages).to.have.length.above(90);
    const documents = ['guides/calling', 'reference/formats', 'explanation/methodology', 'explanation/vintages'];
    const guides = documents.map((name) => `docs/${name}.md`);
    expect(files).to.include.members([...pages, ...guides]);
    expect(await readFile(join(packageRoot, 'Dockerfile'), 'utf8')).to.contain('/app/plugins plugins\n');
  });
});

describe('the pages in Chromium', () => {
  let app: TestApp;
  let browser: TestBrowser;

  before(async function () {
    this.timeout(60_000);
    app = await startTestApp({ config: { plugins: [...DATA, 'docs', 'explore'], server: BROWSED } });
    browser = await openBrowser(this, { origin: app.origin });
    await browser.page.goto(`${app.origin}/docs`);
    await browser.page.evaluate(`sessionStorage.setItem('metro-forecast-key', '${app.key}')`);
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  for (const [view, heading] of [
    ['explore#/markets', 'metros'],
    [`explore#/markets/${HOUSTON}`, 'Houston'],
    [`explore#/compare?m=${ATLANTA},${HOUSTON}`, 'Compare markets and series'],
    ['explore#/series/UNRATE', 'Unemployment'],
    ['explore#/backtest', 'Forecasts were off'],
    ['explore#/status', 'The service is'],
    ['docs', 'Metro Forecast API'],
  ] as const) {
    it(`show ${heading} without an error at /${view}`, async () => {
      const { page, complaints } = browser;
      await page.goto('about:blank');
      await page.goto(`${app.origin}/${view}`);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      expect(complaints).to.deep.equal([]);
    });
  }

  for (const [view, module, heading] of [
    ['explore', 'csv.js', 'metros'],
    ['docs', 'model.js', 'Metro Forecast API'],
    ['docs/csv', 'markdown.js', 'Formats'],
  ] as const) {
    it(`explain why /${view} cannot be loaded, and load it again`, async () => {
      const { page, complaints } = browser;
      await page.route(`**/${module}`, (route) => route.fulfill({ status: 429, body: '' }));
      await page.goto(`${app.origin}/${view}`);
      await page.getByText('The service has received too many requests from your address').waitFor();
      expect(await accessibilityProblems(page)).to.deep.equal([]);
      await page.unroute(`**/${module}`);
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      complaints.splice(0);
    });
  }

  it('have no accessibility problem on the first screen', async function () {
    this.timeout(60_000);
    await browser.page.goto(`${app.origin}/explore`);
    await browser.page.getByRole('heading', { level: 1, name: 'metros' }).waitFor();
    expect(await accessibilityProblems(browser.page)).to.deep.equal([]);
  });
});

describe('the pages of a service that needs no key', () => {
  let app: TestApp;
  let browser: TestBrowser;

  before(async function () {
    this.timeout(60_000);
    app = await startTestApp({ config: { plugins: PLUGINS, server: BROWSED, ...open({ requestsPerMinute: 5000 }) } });
    browser = await openBrowser(this, { origin: app.origin });
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  it('send requests from the reference without a key, in samples too', async () => {
    const { page, complaints } = browser;
    await page.goto(`${app.origin}/docs`);
    await page.getByText('without a key, up to 5,000 requests per minute').waitFor();
    expect(await page.getByLabel('API key').count()).to.equal(0);
    const section = page.locator('section[aria-labelledby="getMarket"]');
    expect(await section.locator('pre').first().innerText()).not.to.contain('Authorization');
    await section.getByRole('button', { name: 'Send' }).click();
    await section.getByText('200 OK').waitFor();
    await page.getByRole('button', { name: 'Use a key' }).click();
    await page.getByLabel('API key').fill(app.key);
    await page.getByRole('button', { name: 'Use this key' }).click();
    expect(await section.locator('pre').first().innerText()).to.contain('Authorization: Bearer $API_KEY');
    await page.getByRole('button', { name: 'Forget key' }).click();
    expect(complaints).to.deep.equal([]);
  });

  it('show API calls that work without a key', async () => {
    const { page } = browser;
    await page.goto(`${app.origin}/explore#/series`);
    const call = page.locator('details', { hasText: 'API call' }).first();
    await call.locator('summary').click();
    expect(await call.locator('code').innerText()).to.equal(`curl '${app.url}/series'`);
    await call.getByText('Python').click();
    await call.locator('code', { hasText: 'headers = {"Accept": "text/csv"}' }).waitFor();
  });
});

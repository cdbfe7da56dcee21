/** The explorer, over HTTP and in Chromium. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type App, createApp } from '../../app/create-app.js';
import { loadConfig } from '../../app/load-config.js';
import { MemoryKeyStore } from '../../core/keys/memory-key-store.js';
import { packageRoot } from '../../core/package-root.js';
import type { Market } from '../../metro/collections.js';
import { FHFA_ATTRIBUTION } from '../../metro/import/documents.js';
import { accessibilityFaults, BROWSED, openBrowser, type TestBrowser } from '../support/browser.js';
import { runProcess } from '../support/command-process.js';
import * as fixture from '../support/fixture.js';
import { request } from '../support/http-client.js';
import { packed } from '../support/packed.js';
import { needSharedData } from '../support/shared-data.js';
import { addKey, startTestApp, type TestApp } from '../support/test-app.js';
import { describePageFiles } from './page-files.js';

const DATA = ['markets', 'forecasts', 'observations', 'signals', 'status'];
const CONFIG = { plugins: [...DATA, 'explore'], server: BROWSED };
const VIEWS = ['markets', `markets/${fixture.HOUSTON}`, 'movers', 'series', 'series/UNRATE', 'backtest', 'status'];

describePageFiles('/explore', 'explore', DATA);

describe('the pages’ browser code', () => {
  it('passes the type check', async function () {
    this.timeout(60_000);
    const require = createRequire(import.meta.url);
    const compiler = join(require.resolve('typescript/package.json'), '../bin/tsc');
    const project = join(packageRoot, 'plugins/pages');
    const run = promisify(execFile)(process.execPath, [compiler, '-p', project]).catch(({ stdout }) => ({ stdout }));
    expect((await run).stdout).to.equal('');
  });

  it('comes with the package, and with its image', async function () {
    this.timeout(60_000);
    const { files } = await packed();
    const pages = ['docs', 'explore', 'methodology', 'pages'].flatMap((name) => {
      const folder = `plugins/${name}/assets`;
      return readdirSync(join(packageRoot, folder)).map((file) => `${folder}/${file}`);
    });
    expect(pages).to.have.length.above(20);
    expect(files).to.include.members([...pages, 'docs/methodology.md']);
    expect(await readFile(join(packageRoot, 'Dockerfile'), 'utf8')).to.contain('/app/plugins plugins\n');
  });
});

/** With a series of the index that carries the attribution, as an import makes it. */
const collections = {
  ...fixture.documents,
  series: (fixture.documents['series'] ?? []).map((one) =>
    one['series_id'] === 'metro_hpi' ? { ...one, notes: FHFA_ATTRIBUTION } : one,
  ),
};

describe('the explorer in Chromium', () => {
  let app: TestApp;
  let browser: TestBrowser;
  let views = 0;
  /** Loads the page anew: another query makes it another document, where another fragment alone would not. */
  const view = async (name: string) => {
    await browser.page.goto(`${app.origin}/explore?view=${views++}#/${name}`);
    await browser.page.waitForSelector('main:not([aria-busy]) h1');
  };
  const giveKey = async (key: string) => {
    await browser.page.getByLabel('API key').fill(key);
    await browser.page.getByRole('button', { name: 'Use this key' }).click();
  };
  const heading = (name: string) => browser.page.getByRole('heading', { level: 1, name });

  before(async function () {
    this.timeout(60_000);
    app = await startTestApp({ collections, config: CONFIG });
    browser = await openBrowser(this, { origin: app.origin });
    await view('status');
  });
  beforeEach(async () => {
    await browser.page.evaluate(`sessionStorage.setItem('metro-forecast-key', '${app.key}')`);
    browser.complaints.length = 0;
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  it('asks for the key once, says when one is wrong, and keeps it out of addresses', async () => {
    const { page, complaints } = browser;
    await page.evaluate('sessionStorage.clear()');
    await view('');
    expect(complaints).to.deep.equal([]);
    await giveKey('mf_wrong');
    await page.getByText('does not accept this key').waitFor();
    // The browser itself reports the 401.
    expect(complaints.splice(0)).to.have.length(1);
    await giveKey(app.key);
    await heading('Markets').waitFor();
    await page.reload();
    await heading('Markets').waitFor();
    expect(page.url()).not.to.contain(app.key);
    expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).to.equal('{}');
    expect(complaints).to.deep.equal([]);
  });

  it('lists all markets with the numbers of the API, sorts and finds them', async () => {
    const { page } = browser;
    await view('markets');
    const rows = () => page.locator('tbody tr').allInnerTexts();
    const percent = (value: number | null) => (value === null ? '–' : `${value > 0 ? '+' : ''}${value.toFixed(2)}%`);
    const expected = (await app.get('/markets')).json.data.map(
      ({ name, forecast_12m, signal, risk_score, yoy_price, cbsa }: Market) =>
        [name, percent(forecast_12m), signal ?? '–', risk_score ?? '–', percent(yoy_price), cbsa].join('\t'),
    );
    expect(await rows()).to.deep.equal(expected);
    await page.getByRole('button', { name: 'Forecast' }).click();
    expect(await page.locator('th[aria-sort]').allInnerTexts()).to.deep.equal(['Forecast']);
    expect((await rows()).map((row) => row.split('\t')[1])).to.deep.equal(['+5.25%', '+1.50%', '–', '–']);
    await page.getByRole('button', { name: 'Forecast' }).press('Enter');
    expect((await rows()).map((row) => row.split('\t')[1])).to.deep.equal(['+1.50%', '+5.25%', '–', '–']);
    await page.getByLabel('Search markets').fill('houst');
    expect(await rows()).to.have.length(1);
    await page.getByText('1 of 4 markets').waitFor();
    await page.getByLabel('Search markets').fill('nowhere');
    await page.getByText('Search for less').waitFor();
  });

  it('reaches Houston’s fan chart in two clicks from its first page', async () => {
    const { page } = browser;
    await view('');
    await page.getByLabel('Search markets').click();
    await page.keyboard.type('Houston');
    await page.locator('tbody td').first().click();
    await heading('Houston, TX').waitFor();
    await page.locator('figure canvas').first().waitFor();
    expect(await page.evaluate('document.activeElement.tagName')).to.equal('H1');
    const { lower_80, upper_80 } = (await app.get(`/markets/${fixture.HOUSTON}/forecast-track`)).json.data.at(-1);
    const figures = await page.locator('.figures').innerText();
    for (const bound of [lower_80, upper_80]) expect(figures).to.contain(bound.toFixed(2));
    expect(figures).to.contain('+1.50%').and.contain('+2.00%');
    expect(await page.locator('#notes').innerText()).to.equal(FHFA_ATTRIBUTION);
  });

  it('draws the index, the forecast and its band, and reads them by arrow keys', async () => {
    const { page } = browser;
    await view(`markets/${fixture.HOUSTON}`);
    const figure = page.locator('figure').first();
    const { point, lower_80, upper_80 } = (await app.get(`/markets/${fixture.HOUSTON}/forecast-track`)).json.data.at(
      -1,
    );
    await figure.locator('.plot').press('End');
    const base = (await app.get(`/markets/${fixture.HOUSTON}/history`)).json.data.at(-1).value;
    const level = (percent: number) => (base * (1 + percent / 100)).toFixed(2);
    expect(await figure.locator('.readout').innerText()).to.equal(
      `2026 Q4 · Forecast ${level(point)} · Upper 80% ${level(upper_80)} · Lower 80% ${level(lower_80)}`,
    );
    await figure.locator('.plot').press('Home');
    expect(await figure.locator('.readout').innerText()).to.equal('2025 Q3 · Index 300.10');
  });

  it('offers each chart’s rows as a table, as CSV and as an API call without the key', async () => {
    const { page } = browser;
    await view(`markets/${fixture.HOUSTON}`);
    const figure = page.locator('figure').first();
    await figure.getByText('Data as a table').click();
    await figure.locator('tbody tr').first().waitFor();
    const { data } = (await app.get(`/markets/${fixture.HOUSTON}/history`)).json;
    expect(await figure.locator('tbody tr').allInnerTexts()).to.deep.equal(
      data.map(({ period_start, value }: { period_start: string; value: number }) =>
        [`${period_start.slice(0, 4)} Q${Math.ceil(Number(period_start.slice(5, 7)) / 3)}`, value].join('\t'),
      ),
    );
    const waiting = page.waitForEvent('download');
    await figure.getByRole('button', { name: 'CSV: index' }).click();
    const download = await waiting;
    expect(download.suggestedFilename()).to.equal(`${fixture.HOUSTON}-index.csv`);
    expect(await readFile(await download.path(), 'utf8')).to.equal(
      (await app.get(`/markets/${fixture.HOUSTON}/history?format=csv`)).text,
    );
    await figure.getByText('API calls').click();
    const call = await figure.locator('pre').innerText();
    expect(call)
      .to.contain(`${app.url}/markets/${fixture.HOUSTON}/history`)
      .and.contain('$METRO_FORECAST_KEY')
      .and.not.contain(app.key);
  });

  it('marks synthetic numbers on every view', async () => {
    for (const name of VIEWS) {
      await view(name);
      await browser.page.getByText('Synthetic numbers').waitFor();
    }
  });

  it('shows the sources’ freshness without a key', async () => {
    await view('status');
    await browser.page.getByRole('button', { name: 'Forget key' }).click();
    await browser.page.waitForSelector('#forget[hidden]', { state: 'attached' });
    const rows = await browser.page.locator('table').nth(1).locator('tbody tr').allInnerTexts();
    const { sources } = (await app.get('/status')).json;
    expect(rows.map((row) => row.split('\t').slice(0, 2))).to.deep.equal(
      sources.map(({ id, state }: Record<string, string>) => [id, state]),
    );
    expect(await browser.page.evaluate('sessionStorage.length')).to.equal(0);
  });

  it('says what to do about every error', async () => {
    const { page } = browser;
    const cases: readonly [number, Record<string, string>, string, RegExp][] = [
      [429, { 'Retry-After': '7' }, 'Too many requests', /Try again in 7 seconds/],
      [503, { 'Retry-After': '1' }, 'cannot answer right now', /Try again in 1 second;/],
      [500, {}, 'That did not work', /a sentence of the service/],
    ];
    for (const [status, headers, name, advice] of cases) {
      await page.route('**/markets', (route) =>
        route.fulfill({ status, headers, json: { error: 'a sentence of the service', code: 'a_code' } }),
      );
      await view('markets');
      const notice = page.getByRole('alert').filter({ hasText: name });
      expect(await notice.innerText()).to.match(advice);
      await page.unroute('**/markets');
      await notice.getByRole('button', { name: 'Try again' }).click();
      await heading('Markets').waitFor();
    }
    await page.route('**/markets', (route) => route.abort());
    await view('markets');
    await page.getByText('The service cannot be reached').waitFor();
    await page.unroute('**/markets');
    await view('markets/99999');
    await page.getByText('There is no market with the CBSA code 99999').waitFor();
    await view('nowhere');
    await page.getByText('There is no such view').waitFor();
  });

  it('shows data as text, whatever it looks like', async () => {
    const { page, complaints } = browser;
    const name = '<img src=x onerror=alert(1)>';
    await page.route('**/markets', (route) =>
      route.fulfill({
        json: { data: [{ cbsa: '1"><b>', name, signal: null, risk_score: null, yoy_price: null, forecast_12m: null }] },
      }),
    );
    await view('markets');
    expect(await page.locator('tbody th').innerText()).to.equal(name);
    expect(await page.locator('tbody img').count()).to.equal(0);
    await page.unroute('**/markets');
    expect(complaints).to.deep.equal([]);
  });

  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const) {
    it(`has no serious accessibility fault, complaint or overflow, ${colorScheme} at ${width} pixels`, async function () {
      this.timeout(60_000);
      const { page, complaints } = browser;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      for (const name of VIEWS) {
        await view(name);
        await page.evaluate('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
        expect(await accessibilityFaults(page), name).to.deep.equal([]);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), name).to.be.at.most(0);
      }
      expect(complaints).to.deep.equal([]);
    });
  }

  it('can be skipped through by keyboard', async () => {
    const { page } = browser;
    await view('markets');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).to.equal('main');
    expect(page.url()).to.match(/#\/markets$/);
  });
});

describe('the explorer over FHFA’s index at full size', () => {
  let folder: string;
  let app: App;
  let browser: TestBrowser;
  let url: string;
  let key: string;
  before(async function () {
    this.timeout(120_000);
    const data = needSharedData(this);
    folder = await mkdtemp(join(tmpdir(), 'metro-forecast-explore-'));
    const dataset = join(folder, 'dataset');
    const sources = [join(data, 'fhfa/hpi_at_metro_2025Q4.csv'), join(data, 'macro')];
    await runProcess(['import', ...sources, '--to', dataset, '--vintage', '2026-02-24'], {});
    await runProcess(['forecast', dataset], {});
    const config = join(folder, 'config.json');
    const json = { use: 'json', options: { path: 'dataset' } };
    await writeFile(config, JSON.stringify({ ...CONFIG, adapter: json, log: { level: 'silent' } }));
    const keyStore = new MemoryKeyStore();
    ({ key } = await addKey(keyStore));
    app = await createApp(await loadConfig({ path: config, env: {} }), { keyStore });
    ({ url } = await app.listen());
    browser = await openBrowser(this, { origin: new URL(url).origin });
  });
  after(async () => {
    await browser?.close();
    await app?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it('lists all 410 markets, and is one click away from Houston’s fan chart with the numbers of the API', async () => {
    const { page, complaints } = browser;
    await page.goto(`${new URL(url).origin}/explore`);
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByText('410 markets').waitFor();
    await page.getByRole('link', { name: /^Houston/ }).click();
    const figure = page.locator('figure').first();
    await figure.locator('canvas').waitFor();
    const ask = async (target: string) =>
      (await request(`${url}${target}`, { headers: { Authorization: `Bearer ${key}` } })).json;
    const { forecast_12m } = await ask('/markets/26420');
    const { lower_80, upper_80 } = (await ask('/markets/26420/forecast-track')).data.at(-1);
    const shown = await page.locator('.figures').innerText();
    for (const figure of [forecast_12m, lower_80, upper_80]) expect(shown).to.contain(`${figure.toFixed(2)}%`);
    await figure.getByText('Data as a table').click();
    await figure.locator('tbody tr').first().waitFor();
    const { data } = await ask('/markets/26420/history');
    const values = await figure.locator('tbody td').allInnerTexts();
    expect(values.map(Number)).to.deep.equal(data.map(({ value }: { value: number }) => value));
    expect(values).to.have.length(200);
    expect(await page.locator('#notes').innerText()).to.equal(FHFA_ATTRIBUTION);
    expect(await page.locator('#synthetic').isVisible()).to.equal(false);
    expect(complaints).to.deep.equal([]);
  });
});

describe('the explorer over an empty dataset', () => {
  let app: TestApp;
  let browser: TestBrowser;
  before(async function () {
    this.timeout(60_000);
    const empty = Object.fromEntries(Object.keys(fixture.documents).map((name) => [name, []]));
    app = await startTestApp({
      manifest: { ...fixture.manifest, synthetic: false },
      collections: empty,
      config: CONFIG,
    });
    browser = await openBrowser(this, { origin: app.origin });
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  it('says what is missing and how to bring it in', async () => {
    const { page, complaints } = browser;
    await page.goto(`${app.origin}/explore`);
    await page.getByLabel('API key').fill(app.key);
    await page.getByRole('button', { name: 'Use this key' }).click();
    for (const [name, text] of [
      ['markets', 'metro-forecast import'],
      ['movers', 'metro-forecast forecast'],
      ['series', 'no series yet'],
      ['backtest', '12 months of completed runs'],
    ] as const) {
      await page.goto(`${app.origin}/explore#/${name}`);
      await page.locator('.notice', { hasText: text }).waitFor();
    }
    expect(await page.locator('#synthetic').isVisible()).to.equal(false);
    expect(complaints).to.deep.equal([]);
  });
});

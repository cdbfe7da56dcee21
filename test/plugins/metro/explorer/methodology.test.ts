import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../../../core/util/package.js';
import { defaultRules } from '../../../../plugins/metro/forecast/default-rules.js';
import { accessibilityProblems, BROWSED, openBrowser, type TestBrowser } from '../../../support/browser.js';
import { request } from '../../../support/http-client.js';
import { describePageFiles } from '../../../support/page-files.js';
import { pageModules } from '../../../support/page-modules.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

describePageFiles('/docs/methodology', 'forecasts', ['markets']);

const read = (name: string) => readFile(join(packageRoot, `docs/explanation/${name}.md`), 'utf8');
const text = () => read('methodology');
const figuresIn = (document: string): Map<string, string> =>
  new Map(
    [...document.matchAll(/<!-- figures (\w+) -->\n(.*?)<!-- \/figures -->/gs)].map(([, name, content]) => [
      name!,
      content!,
    ]),
  );

describe('docs/explanation/methodology.md', () => {
  it('states the default thresholds', async () => {
    const written = await text();
    const { expandPoint, expandLower, contractPoint, grades } = defaultRules;
    expect(written).to.include(`\`point\` of ${expandPoint}% or more, and \`lower_80\` above ${expandLower}%`);
    expect(written).to.include(`\`point\` below ${contractPoint}%`);
    for (const limit of grades) expect(written).to.include(`${100 * limit}%`);
  });
});

describe('docs/explanation/track-record.md', () => {
  it('has every figure of the web page that the methodology leaves empty', async () => {
    const { figures } = await pageModules('plugins/metro/explorer/browser/methodology/figures');
    const methodology = figuresIn(await text());
    const record = figuresIn(await read('track-record'));
    expect([...methodology.keys()].filter((name) => name !== 'source')).to.have.members(Object.keys(figures));
    const empty = [...methodology].filter(([, content]) => content === '').map(([name]) => name);
    expect([...record.keys()]).to.have.members(empty);
    for (const [name, content] of record) expect(content, name).to.match(/^\|.*\n\| ---/);
  });
});

describe('the methodology in Chromium', () => {
  let app: TestApp;
  let browser: TestBrowser;

  before(async function () {
    this.timeout(60_000);
    const adapter = { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } };
    const plugins = ['docs', 'markets', 'forecasts', 'signals', 'observations', 'status'];
    app = await startTestApp({ config: { adapter, plugins, server: BROWSED } });
    browser = await openBrowser(this, { origin: app.origin });
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  it('GET /docs/methodology is a page, even if /docs is mounted first', async () => {
    expect((await request(`${app.origin}/docs/methodology`)).text).to.include(
      '<title>Methodology – Metro Forecast API</title>',
    );
    expect((await request(`${app.origin}/docs`)).text).to.include('<title>Metro Forecast API – API reference</title>');
  });

  it('shows the whole text without a key, and no figures', async () => {
    const { page } = browser;
    await page.goto(`${app.origin}/docs/methodology`);
    await page.waitForSelector('form.key-form');
    const headings = (await text()).match(/^#+ .+$/gm)?.map((line) => line.replace(/^#+ /, ''));
    expect(await page.locator('main :is(h1, h2:not(form h2))').allTextContents()).to.have.members(headings ?? []);
    expect(await page.locator('[data-figures] table').count()).to.equal(0);
    expect(await page.locator('main').textContent()).to.not.include('31,568');
  });

  it("shows the served snapshot's coefficients, thresholds, grades and years with a key", async () => {
    const { page } = browser;
    await page.getByLabel('API key').fill(app.key);
    await page.getByRole('button', { name: 'Use this key' }).click();
    for (const name of [
      'coefficients',
      'inputs',
      'rules',
      'grades',
      'signals',
      'probabilities',
      'years',
      'period',
      'record',
      'horizons',
      'areas',
    ])
      await page.waitForSelector(`[data-figures="${name}"] table`);
    const cells = (name: string) => page.locator(`[data-figures="${name}"] tbody tr`).allTextContents();

    const [run] = (await app.get('/forecast-runs')).json.data;
    expect(await cells('coefficients')).to.deep.equal(
      run.coefficients.map(({ name, value }: { name: string; value: number }) => name + Number(value.toPrecision(3))),
    );
    expect((await cells('rules'))[5]).to.equal('Grade Bfrom 10% to below 20%');
    const { data } = (await app.get('/forecast-backtest')).json;
    expect(await page.locator('[data-figures="summary"] li').first().textContent())
      .to.include(`percentage points. The best benchmark, `)
      .and.to.include(data.mae_pp.toFixed(2))
      .and.to.include(`of ${data.n} reconstructed forecasts is`);
    const grades = (await app.get('/forecast-backtest/breakdown?by=grade')).json.data;
    const shown = await cells('grades');
    expect(shown.map((row) => row[0])).to.deep.equal(grades.map(({ group }: { group: string }) => group));
    expect(shown[0]).to.include(`${(100 * grades[0].decline_share).toFixed(1)}%`);
    const years = (await app.get('/forecast-backtest/breakdown?by=year')).json.data;
    const worst = years.toSorted((a: { mae_pp: number }, b: { mae_pp: number }) => b.mae_pp - a.mae_pp)[0];
    expect((await cells('years'))[0]).to.match(new RegExp(`^${worst.group}`));
    expect(await page.locator('form.key-form').count()).to.equal(0);
  });

  for (const [name, document] of [
    ['calling', 'guides/calling.md'],
    ['vintages', 'explanation/vintages.md'],
    ['csv', 'reference/formats.md'],
  ]) {
    it(`GET /docs/${name} shows all of its document, with code, tables and working links`, async () => {
      const { page } = browser;
      await page.setViewportSize({ width: 390, height: 900 });
      await page.goto(`${app.origin}/docs/${name}`);
      await page.waitForSelector('main h1');
      const written = await readFile(join(packageRoot, 'docs', document!), 'utf8');
      const blocks = [...written.matchAll(/^```.*\n([\s\S]*?)\n```$/gm)].map(([, code]) =>
        code!.replaceAll('http://127.0.0.1:8080', app.origin),
      );
      expect(blocks).to.have.length.above(0);
      expect(await page.locator('main pre').allTextContents()).to.deep.equal(blocks);
      const shown = await page.locator('main :is(p, li, td, th, h2)').allTextContents();
      for (const text of shown) expect(text).to.not.match(/\]\(|\*\*|^\||^#/);
      if (name === 'calling') expect(await page.locator('main a[href="/docs/csv"]').count()).to.be.above(0);
      expect(await page.locator('.guides [aria-current]').getAttribute('href')).to.equal(`/docs/${name}`);
      for (const link of await page.locator('a[href^="/docs"]').all()) {
        const target = await link.getAttribute('href');
        // Browsers do not send the fragment.
        expect((await request(`${app.origin}${target!.replace(/#.*/, '')}`)).status, target!).to.equal(200);
      }
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.be.at.most(0);
      expect(await accessibilityProblems(page)).to.deep.equal([]);
      await page.setViewportSize({ width: 1280, height: 900 });
      const broken = await page.evaluate(`[...document.querySelectorAll('td code')]
        .filter((code) => code.getClientRects().length > 1 && /^[\\w=,?&]+$/.test(code.textContent))
        .map((code) => code.textContent)`);
      expect(broken, 'codes that wrap although there is room').to.deep.equal([]);
    });
  }

  it('is accessible, and logs no error', async () => {
    await browser.page.goto(`${app.origin}/docs/methodology`);
    await browser.page.waitForSelector('[data-figures="years"] table');
    expect(await accessibilityProblems(browser.page)).to.deep.equal([]);
    expect(browser.complaints).to.deep.equal([]);
  });
});

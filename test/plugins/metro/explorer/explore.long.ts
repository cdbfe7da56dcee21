import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import type { App } from '../../../../core/app/app-types.js';
import type { Document } from '../../../../core/contracts/dataset.js';
import { MemoryKeyStore } from '../../../../core/keys/memory-key-store.js';
import type { Market } from '../../../../plugins/metro/collections.js';
import { FHFA_ATTRIBUTION } from '../../../../plugins/metro/import/documents.js';
import { createApp, loadConfig } from '../../../../product.js';
import {
  accessibilityProblems,
  addressOf,
  BROWSED,
  holdFirst,
  openBrowser,
  type TestBrowser,
} from '../../../support/browser.js';
import { runProcess } from '../../../support/command-process.js';
import * as fixture from '../../../support/fixture.js';
import { request } from '../../../support/http-client.js';
import { LABEL_PROBLEMS } from '../../../support/page-files.js';
import { needSharedData } from '../../../support/shared-data.js';
import { addKey, startTestApp, type TestApp } from '../../../support/test-app.js';
import { entriesOf } from '../../../support/zip.js';

const DATA = ['markets', 'forecasts', 'observations', 'signals', 'status'];
const FRAMER = 'https://example.org';
const fixed = (value: number): string => value.toFixed(2).replace('-', '−');
const CONFIG = { plugins: [...DATA, { use: 'explore', options: { frameAncestors: [FRAMER] } }], server: BROWSED };
const VIEWS = [
  'markets',
  `markets/${fixture.HOUSTON}`,
  'movers',
  `compare?m=${fixture.ATLANTA},${fixture.HOUSTON}&from=2025`,
  'series',
  'series/PAYEMS',
  'backtest',
  'status',
  'data',
];

describe('the weight of the explorer', () => {
  it('is at most 90 kB compressed without a view, 150 kB with all views, and 250 kB with the map', async () => {
    const app = await startTestApp({ config: CONFIG });
    try {
      const get = (target: string) => request(`${app.origin}${target}`, { headers: { 'Accept-Encoding': 'gzip' } });
      const sizes = new Map<string, number>([['/explore', (await get('/explore')).bytes.length]]);
      const sum = () => [...sizes.values()].reduce((total, size) => total + size, 0);
      const load = async (targets: readonly string[]): Promise<void> => {
        for (const target of targets.filter((one) => !sizes.has(one))) {
          sizes.set(target, (await get(target)).bytes.length);
          const { text } = await request(`${app.origin}${target}`);
          const imports = text.matchAll(/(?:^(?:import .*|\}) from |await import\()'([^']+)'/gm);
          lazy.push(...[...imports].map(([, path]) => new URL(path!, `http://localhost${target}`).pathname));
        }
      };
      const lazy: string[] = [];
      const { text } = await request(`${app.origin}/explore`);
      const named = [...text.matchAll(/(?:src|href)="(\/explore\/[^"#]+)"/g)].map(([, target]) => target!);
      await load(named);
      expect(named).to.have.length.above(20);
      expect(sum()).to.be.below(90_000);
      for (let left = lazy.splice(0); left.length > 0; left = lazy.splice(0)) await load(left);
      expect(sizes.size).to.be.above(named.length + 20);
      expect(sum()).to.be.below(150_000);
      expect(sum() + (await get('/explore/metro/explorer/browser/map.json')).bytes.length).to.be.below(250_000);
    } finally {
      await app.close();
    }
  });
});

const NEW_YORK = '35614';
const PAYEMS = ['2025-08-01', '2025-09-01', '2025-10-01', '2025-11-01'].map((period_start, index) => ({
  series_id: 'PAYEMS',
  period_start,
  value: 159_000 + 137 * index,
}));
const ofUnemployment = (fixture.documents['series'] ?? []).find((one) => one['series_id'] === 'UNRATE');

const byKey = (key: string) => (a: Document, b: Document) => (`${a[key]}` < `${b[key]}` ? -1 : 1);
const collections = {
  ...fixture.documents,
  markets: [
    ...(fixture.documents['markets'] ?? []),
    {
      id: 5,
      cbsa: NEW_YORK,
      name: 'New York-Jersey City-White Plains, NY-NJ (MSAD)',
      signal: null,
      risk_score: null,
      yoy_price: null,
      forecast_12m: null,
    },
  ].toSorted(byKey('cbsa')),
  series: [
    ...(fixture.documents['series'] ?? []).map((one) =>
      one['series_id'] === 'metro_hpi' ? { ...one, notes: FHFA_ATTRIBUTION, units: 'Index, 1995 Q1 = 100' } : one,
    ),
    { ...ofUnemployment, series_id: 'PAYEMS', title: 'All Employees, Total Nonfarm', units: 'Thousands of Persons' },
  ].toSorted(byKey('series_id')),
  observations: [...PAYEMS, ...(fixture.documents['observations'] ?? [])],
};

describe('the explorer in Chromium', () => {
  let app: TestApp;
  let browser: TestBrowser;
  let views = 0;
  /** A change of the fragment does not reload the page, so the query changes too. */
  const view = async (name: string) => {
    await browser.page.goto(`${app.origin}/explore?view=${views++}#/${name}`);
    await browser.page.waitForSelector('main:not([aria-busy]) h1');
  };
  const giveKey = async (key: string) => {
    await browser.page.getByLabel('API key').fill(key);
    await browser.page.getByRole('button', { name: 'Use this key' }).click();
  };
  /** The content security policy forbids `waitForFunction`. */
  const until = async (expression: string) => {
    while (!(await browser.page.evaluate(expression))) await setTimeout(20);
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
    await browser.page.emulateMedia({ colorScheme: 'light', media: 'screen', forcedColors: 'none' });
    await browser.page.setViewportSize({ width: 1280, height: 900 });
    browser.complaints.length = 0;
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  it('asks for the key once, reports a wrong key, and keeps keys out of the URL', async () => {
    const { page, complaints } = browser;
    await page.evaluate('sessionStorage.clear()');
    await view('');
    expect(complaints).to.deep.equal([]);
    await giveKey('mf_wrong');
    await page.getByText('does not accept this key').waitFor();
    // The browser logs the 401 as an error.
    expect(complaints.splice(0)).to.have.length(1);
    await page.getByLabel('Remember the key').uncheck();
    await giveKey(app.key);
    await heading('metros').waitFor();
    await page.reload();
    await heading('metros').waitFor();
    expect(await addressOf(page)).not.to.contain(app.key);
    expect(await page.evaluate('document.cookie')).to.equal('');
    expect(await page.evaluate('Object.keys(localStorage)')).to.deep.equal([]);
    expect(complaints).to.deep.equal([]);
  });

  it('lists all markets with the numbers from the API, and sorts and finds them', async () => {
    const { page } = browser;
    await view('markets');
    const rows = async () => (await page.locator('tbody tr').allInnerTexts()).map((row) => row.split('\t'));
    const percent = (value: number | null) => (value === null ? '–' : `${value > 0 ? '+' : ''}${fixed(value)}%`);
    const { data } = (await app.get('/markets')).json;
    const expected = data.map(({ name, forecast_12m, signal, risk_score, yoy_price }: Market) =>
      [name.replace(' (MSAD)', ''), percent(forecast_12m), percent(yoy_price), risk_score ?? '–', signal ?? '–'].join(),
    );
    const shown = (await rows()).map(([name, forecast = '', last, , grade, signal]) =>
      [name, forecast.split('\n')[0], last, grade, signal].join(),
    );
    expect(shown.slice(0, 2)).to.deep.equal([expected[0], expected[2]]);
    expect(shown.toSorted()).to.deep.equal(expected.toSorted());
    expect(await page.locator('th[aria-sort]').allInnerTexts()).to.deep.equal(['Forecast']);
    await page.getByLabel('Sort by').selectOption('Name');
    expect((await rows()).map(([name]) => name)).to.deep.equal((await rows()).map(([name]) => name).toSorted());
    await page.getByRole('button', { name: 'Forecast' }).click();
    const forecasts = async () => (await rows()).map(([, forecast = '']) => forecast.split('\n')[0]);
    expect(await forecasts()).to.deep.equal(['+5.25%', '+1.50%', '–', '–', '–']);
    await page.getByRole('button', { name: 'Forecast' }).press('Enter');
    expect(await forecasts()).to.deep.equal(['+1.50%', '+5.25%', '–', '–', '–']);
    await page.getByLabel('Search markets').fill('houst');
    expect(await rows()).to.have.length(1);
    await page.getByText('1 of 5 markets').waitFor();
    await page.getByLabel('Search markets').fill('nowhere');
    await page.getByText('No market matches “nowhere”').waitFor();
    await heading('No market matches').waitFor();
    expect(await page.locator('.list table').isVisible(), 'an empty table').to.equal(false);
    await page.getByLabel('Search markets').fill('atlanta');
    await page.getByLabel('State').selectOption('TX');
    await page.getByRole('link', { name: 'clear the filters' }).click();
    await page.getByText('1 of 5 markets').waitFor();
    expect(await page.getByLabel('Search markets').inputValue()).to.equal('atlanta');
    await page.getByLabel('Search markets').fill('');
    await page.getByLabel('State').selectOption('TX');
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV: as shown' }).click();
    const csv = (await readFile(await (await waiting).path(), 'utf8')).split('\r\n');
    expect(csv[0]).to.contain('forecast_12m_percent').and.contain('run_at');
    expect(csv.slice(1)).to.have.length(2);
    expect(csv[1]).to.contain('"Houston, TX"');
    await page.getByText('API call').click();
    const call = await page.locator('pre').first().innerText();
    const { data: narrowed } = (await app.get(/\/markets\?[^']+/.exec(call)![0])).json;
    expect(narrowed.map(({ cbsa }: Market) => cbsa)).to.deep.equal([fixture.HOUSTON]);
  });

  it('shows the series, units, adjustment, quarter, run and vintage of the list', async () => {
    await view('markets');
    expect(await browser.page.locator('.facts').innerText()).to.equal(
      'About these figures: House Price Index: Index, 1995 Q1 = 100, not seasonally adjusted, up to 2025 Q4 · run of 2026-03-01 by test-1.0 · reconstructed · Methodology',
    );
    await view('markets?run=1');
    expect(await browser.page.locator('.facts').innerText(), 'a past run').to.contain(
      'up to 2024 Q4 · run of 2024-11-26',
    );
  });

  it('keeps search, filters, sorting, colours, run and scroll position in the URL and its history', async () => {
    const { page } = browser;
    await view('markets');
    await page.getByLabel('Search markets').fill('a');
    await page.getByLabel('State').selectOption('GA');
    await page.getByRole('group', { name: 'Colour by' }).getByText('Risk grade').click();
    await page.getByRole('button', { name: 'Last year' }).click();
    await page.getByLabel('Model run').press('ArrowLeft');
    await until('location.hash.includes("run=4")');
    const address = await addressOf(page);
    expect(address).to.contain('#/markets?q=a&state=GA&colour=grade&sort=-last&run=4');
    await page.reload();
    await page.waitForSelector('main:not([aria-busy]) h1');
    expect(await addressOf(page)).to.equal(address);
    expect(await page.getByLabel('Search markets').inputValue()).to.equal('a');
    expect(await page.locator('tbody th').allInnerTexts()).to.deep.equal(['Atlanta, GA']);
    expect(await page.locator('tbody td').first().innerText()).to.contain('+4.25%');
    expect(await page.locator('th[aria-sort]').innerText()).to.equal('Last year');
    await page.locator('tbody a').click();
    await heading('Atlanta, GA').waitFor();
    await page.getByText('Yearly change').click();
    await page.getByText('20 years').click();
    expect(await addressOf(page)).to.match(/#\/markets\/12060\?show=change&years=20$/);
    await page.evaluate('scrollTo(0, 300)');
    await until('history.state?.top === 300');
    await page.goBack();
    await page.getByLabel('Model run').waitFor();
    expect(await addressOf(page)).to.equal(address);
    await page.goForward();
    await heading('Atlanta, GA').waitFor();
    await until('scrollY === 300');
  });

  it('accepts the API’s parameters in addresses, and names the parameters that a view does not have', async () => {
    const { page } = browser;
    await view('markets?state=GA&risk_score=A&sort=-yoy_price&limit=5');
    expect(await page.locator('#by-grade').inputValue()).to.equal('A');
    expect(await addressOf(page)).to.match(/#\/markets\?state=GA&sort=-last&limit=5&grade=A$/);
    expect(await page.locator('main .head [role=alert]').innerText()).to.equal(
      'The address contains “limit”, which this view does not know. All other choices apply.',
    );
    await view('markets?risk_score=A, b&signal=hold&signal=expand&state=GA&state=ZZZ');
    expect(await addressOf(page)).to.match(/#\/markets\?signal=hold,expand&state=GA&grade=A,B$/);
    expect(await page.locator('#by-grade').inputValue()).to.equal('A,B');
    expect(await page.locator('#by-signal option:checked').innerText()).to.equal('hold, expand');
    expect(await page.locator('main .head [role=alert]').innerText()).to.contain('“state=ZZZ”');
    expect(await page.locator('h1').innerText()).not.to.contain('No ');
    await view('movers?state=GA&signal=hold');
    expect(await page.locator('main .head [role=alert]').innerText()).to.contain('“state”, “signal”');
    await view('compare?m=12060&real=true&from=2008Q1&show=hpi');
    expect(await page.locator('main .head [role=alert]').innerText()).to.contain('“show=hpi”, “from=2008Q1”');
    expect(await addressOf(page)).to.match(/#\/compare\?m=12060&real=1$/);
    await view('series/UNRATE?years=5&figure=x');
    expect(await page.locator('main .head [role=alert]').count()).to.equal(0);
  });

  it('shows the last of several choices, even if an earlier response arrives later, and shows errors', async () => {
    const { page } = browser;
    const list = async () => [
      await page.locator('.facts').innerText(),
      ...(await page.locator('tbody tr').allInnerTexts()),
      ...(await page.locator('.spark path').evaluateAll((paths) => paths.map((path) => path.getAttribute('d')))),
    ];
    const lines = () => until('[...document.querySelectorAll(".spark path")].some((path) => path.getAttribute("d"))');
    await view('markets?state=TX');
    await lines();
    const expected = await list();
    await view('markets?run=1');
    const first = await holdFirst(page, '**/observations?*');
    await page.getByLabel('Model run').press('ArrowRight');
    await first.requested;
    await page.getByLabel('Model run').press('ArrowRight');
    await until('!location.hash.includes("run=")');
    await lines();
    await first.release();
    await page.getByLabel('State').selectOption('TX');
    expect(await list()).to.deep.equal(expected);

    await page.route('**/observations?*', (route) => route.fulfill({ status: 503, json: { error: 'e', code: 'c' } }));
    await page.getByLabel('Model run').press('ArrowLeft');
    const notice = page.getByRole('alert').filter({ hasText: 'temporarily unavailable' });
    await notice.waitFor();
    expect((await list()).slice(1), 'the rows of the previous run stay').to.deep.equal(expected.slice(1));
    await page.unroute('**/observations?*');
    await notice.getByRole('button', { name: 'Try again' }).click();
    await notice.waitFor({ state: 'detached' });
    await lines();
    const shown = await list();
    await page.reload();
    await lines();
    expect(await list()).to.deep.equal(shown);

    // Only the first market has to load the national series.
    await view(`compare?m=${fixture.ATLANTA},${fixture.HOUSTON}&from=2025`);
    const before = await page.locator('.plot path').evaluateAll((all) => all.map((path) => path.getAttribute('d')));
    const nation = await holdFirst(page, '**/observations?*');
    await page.getByText('Difference from the nation').click();
    await nation.requested;
    await page.getByText('Start = 100').click();
    await nation.release();
    expect(
      await page.locator('.plot path').evaluateAll((all) => all.map((path) => path.getAttribute('d'))),
    ).to.deep.equal(before);
  });

  it('finds markets by city and state from any view, and opens them with Enter', async () => {
    const { page } = browser;
    await view('status');
    await page.keyboard.press('/');
    await page.keyboard.type('new york, ny');
    await page.getByRole('option', { name: 'New York-Jersey City' }).waitFor();
    await page.keyboard.press('Enter');
    await heading('New York-Jersey City-White Plains, NY-NJ').waitFor();
    await page.getByText('a division of the metropolitan area New York-Newark-Jersey City').waitFor();
  });

  it('has no clipped or overlapping label', async () => {
    const { page } = browser;
    for (const name of ['series/PAYEMS', 'series/UNRATE', ...VIEWS.slice(1, 4)]) {
      await view(name);
      const problems = await page.evaluate(LABEL_PROBLEMS);
      expect(problems, name).to.deep.equal([]);
    }
    await view('series/PAYEMS');
    const ticks = (await page.locator('.plot .tick[text-anchor="end"]').allTextContents()).map((text) =>
      Number(text.replaceAll(',', '')),
    );
    expect(ticks.length).to.be.above(2);
    for (const tick of ticks) expect(tick).to.be.within(158_500, 160_000);
    expect(await page.locator('.plot .unit').textContent()).to.equal('Thousands of Persons, seasonally adjusted');
  });

  it('shows gaps in the index and in past forecasts', async () => {
    const { page } = browser;
    const strokes = (figure: number) =>
      page
        .locator('figure')
        .nth(figure)
        .locator('.plot .line')
        .evaluateAll((lines) => lines.map((line) => line.getAttribute('d') ?? ''));
    // The value of 2025 Q3 is missing, so the line ends, and the next quarter is a dot.
    await view(`markets/${fixture.ATLANTA}`);
    await page.locator('figure .plot svg').first().waitFor();
    expect((await strokes(0))[0]).to.match(/^M[^ML]+L[^ML]+$/);
    // There are forecasts for 2025 Q4 and 2026 Q4, but none between these quarters.
    await view(`markets/${fixture.HOUSTON}`);
    await page.locator('figure .plot svg').first().waitFor();
    expect(await strokes(1)).to.deep.equal(['', '']);
    expect(await page.locator('figure').nth(1).locator('.plot circle').count()).to.equal(3);
  });

  it('shows values when a finger moves sideways, and scrolls the page when it moves down', async () => {
    const { page } = browser;
    await view('series/PAYEMS');
    const { x, y, width } = (await page.locator('.plot').boundingBox())!;
    const session = await page.context().newCDPSession(page);
    const touch = (type: string, at?: number) =>
      session.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: at === undefined ? [] : [{ x: at, y: y + 80 }],
      } as never);
    const read: string[] = [];
    await touch('touchStart', x + width - 20);
    for (const part of [0.9, 0.6, 0.4, 0.1]) {
      await touch('touchMove', x + width * part);
      await setTimeout(40);
      read.push((await page.locator('.readout').textContent()) ?? '');
    }
    await touch('touchEnd');
    await session.detach();
    expect(new Set(read).size).to.be.at.least(3);
    expect(read.at(-1)).to.contain('2025-08-01').and.contain('159,000');
    expect(await page.evaluate('getComputedStyle(document.querySelector(".plot")).touchAction')).to.equal(
      'pan-y pinch-zoom',
    );
  });

  it('prints whole charts in light colours without buttons, even in dark mode', async () => {
    const { page } = browser;
    await page.emulateMedia({ colorScheme: 'dark' });
    await view(`markets/${fixture.HOUSTON}`);
    await page.locator('figure .plot svg').first().waitFor();
    await page.emulateMedia({ colorScheme: 'dark', media: 'print' });
    await page.setViewportSize({ width: 700, height: 900 });
    await page.evaluate('dispatchEvent(new Event("beforeprint"))');
    const paper = (await page.evaluate(`(() => {
      const channels = (color) => color.match(/\\d+/g).map(Number);
      const [red] = channels(getComputedStyle(document.body).backgroundColor);
      const [ink] = channels(getComputedStyle(document.querySelector('.plot .line')).stroke);
      const wide = [...document.querySelectorAll('.plot > svg')].map((plot) => plot.getBoundingClientRect().right - innerWidth);
      const pressed = [...document.querySelectorAll('button:not(th button), input, summary, #announcement')].filter((each) => each.checkVisibility());
      const texts = (selector) => [...document.querySelectorAll(selector)].map((each) => each.innerText);
      return { red, ink, wide, buttons: pressed.length, owner: texts('.on-paper')[0], sources: texts('.source'), drivers: texts('.drivers h2') };
    })()`)) as {
      red: number;
      ink: number;
      wide: number[];
      buttons: number;
      owner: string;
      sources: string[];
      drivers: string[];
    };
    await page.evaluate('dispatchEvent(new Event("afterprint"))');
    for (const format of ['A4', 'Letter']) {
      const sheets = (await page.pdf({ format, preferCSSPageSize: false }))
        .toString('latin1')
        .match(/\/Type \/Page\b/g);
      expect(sheets, format).to.have.length(1);
    }
    await page.emulateMedia({ colorScheme: 'light', media: 'screen' });
    await page.setViewportSize({ width: 1280, height: 900 });
    expect(paper.sources).to.have.length(2);
    expect(paper.sources.join()).to.match(/^Source: \w+/);
    expect(paper.drivers).to.deep.equal(['Why this forecast']);
    expect(paper.red).to.equal(255);
    expect(paper.ink).to.be.below(80);
    expect(paper.buttons).to.equal(0);
    expect(paper.owner, 'the source of the print').to.contain(await addressOf(page));
    for (const excess of paper.wide) expect(excess).to.be.at.most(0);
  });

  it('draws grid lines lighter than the axis in forced colours', async () => {
    const { page } = browser;
    await page.emulateMedia({ forcedColors: 'active' });
    await view(`markets/${fixture.HOUSTON}`);
    const strokes = (await page.evaluate(
      `[...document.querySelectorAll('.plot svg line[stroke="var(--line)"]')].map((line) => getComputedStyle(line).stroke)`,
    )) as string[];
    await page.emulateMedia({ forcedColors: 'none' });
    expect(new Set(strokes)).to.deep.equal(new Set(['color(srgb 0.75 0.75 0.75)']));
  });

  it('draws a visible band in forced colours', async () => {
    const { page } = browser;
    await page.emulateMedia({ forcedColors: 'active' });
    await view(`markets/${fixture.HOUSTON}`);
    const swatches = (await page.evaluate(`[...document.querySelectorAll('.legend svg > *')].map((mark) => {
      const { fill, stroke } = getComputedStyle(mark);
      return [fill, stroke];
    })`)) as string[][];
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    await page.emulateMedia({ forcedColors: 'none' });
    expect(swatches.length).to.be.above(4);
    for (const colors of swatches)
      expect(colors.some((color) => color !== background && color !== 'none')).to.equal(true);
  });

  it('distinguishes signals, recessions and key figures from the page in forced colours', async () => {
    const { page } = browser;
    await page.emulateMedia({ forcedColors: 'active' });
    await view('markets');
    const colors = (await page.evaluate(`(() => {
      const sample = document.createElement('div');
      document.querySelector('main').append(sample);
      const tone = (name) => {
        sample.className = 'badge';
        sample.style.setProperty('--tone', name && 'var(--' + name + ')');
        return getComputedStyle(sample).borderInlineStartColor;
      };
      const shown = ['', 'even', 'rise-5', 'fall-3'].map(tone);
      sample.className = '';
      sample.style = 'forced-color-adjust: none; background: var(--shade)';
      shown.push(getComputedStyle(sample).backgroundColor, getComputedStyle(document.body).backgroundColor);
      sample.remove();
      return shown;
    })()`)) as string[];
    await view(`markets/${fixture.HOUSTON}`);
    const border = await page.evaluate("getComputedStyle(document.querySelector('.figures div')).borderTopColor");
    const badge = await page.locator('.figures .badge').first().getAttribute('style');
    await page.emulateMedia({ forcedColors: 'none' });
    expect(new Set(colors).size, colors.join()).to.equal(colors.length);
    expect(border, 'the border of key figures').to.match(/^rgb\(/);
    expect(badge).to.match(/^--tone: var\(--(rise-5|fall-3|even|grade-\d)\);$/);
  });

  it('shows the forecast above its band and the texts of buttons in forced colours', async () => {
    const { page } = browser;
    await page.emulateMedia({ forcedColors: 'active' });
    await view(`markets/${fixture.HOUSTON}`);
    const contrast = `(a, b) => {
      const light = (color) => {
        const parts = color.match(/[\\d.]+/g).map(Number).slice(0, 3);
        const scaled = color.startsWith('rgb') ? parts.map((part) => part / 255) : parts;
        const [r, g, b] = scaled.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
      };
      return Math.max(light(a), light(b)) / Math.min(light(a), light(b));
    }`;
    const ofForecast = await page.evaluate(
      `(${contrast})(getComputedStyle(document.querySelector('.plot .band')).fill,
        getComputedStyle(document.querySelector('.plot .line[stroke-dasharray]')).stroke)`,
    );
    const ofBand = await page.evaluate(
      `(${contrast})(getComputedStyle(document.querySelector('.plot .band')).fill,
        getComputedStyle(document.body).backgroundColor)`,
    );
    await view('compare');
    const ofButton = await page.evaluate(`(() => {
      const { color, backgroundColor } = getComputedStyle(document.querySelector('form [type=submit]:not(#finder *)'));
      return (${contrast})(color, backgroundColor);
    })()`);
    await page.emulateMedia({ forcedColors: 'none' });
    expect(ofForecast, 'the forecast above its band').to.be.above(3);
    expect(ofBand, 'the band on the page').to.be.above(1.5);
    expect(ofButton, 'the text of a button').to.be.above(4.5);
  });

  it('shows the front page in the reader’s colour scheme', async () => {
    const { page } = browser;
    await page.goto(`${app.origin}/`);
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).to.equal('light dark');
  });

  it('fits the map and the list into one screen with sticky headings; a phone shows forecast and last year', async () => {
    const { page } = browser;
    await page.setViewportSize({ width: 1440, height: 900 });
    await view('markets');
    expect(await page.evaluate('document.documentElement.scrollHeight')).to.equal(900);
    expect(await page.locator('.map .metro').count()).to.equal(5);
    const hidden =
      'document.querySelector(".list .scroll").scrollWidth - document.querySelector(".list .scroll").clientWidth';
    expect(await page.evaluate(hidden)).to.equal(0);
    await page.setViewportSize({ width: 1300, height: 700 });
    expect(await page.locator('.mapped').evaluate((map) => map.clientWidth)).to.be.at.least(400);
    await page.setViewportSize({ width: 1300, height: 900 });
    const covered =
      'document.querySelector(".mapped").getBoundingClientRect().bottom - document.querySelector(".place .legend").getBoundingClientRect().top';
    expect(await page.evaluate(covered)).to.be.at.most(0);
    expect(await page.evaluate('document.documentElement.scrollHeight')).to.equal(900);
    await page.locator('.list .scroll').evaluate((list) => {
      list.style.maxHeight = '120px';
      list.scrollTop = 60;
    });
    const top = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((each) => Math.round(each.getBoundingClientRect().top));
    expect(await top('thead th')).to.equal(await top('.list .scroll'));
    await page.setViewportSize({ width: 390, height: 844 });
    await view('markets');
    const right = await page
      .getByRole('columnheader', { name: 'Last year' })
      .evaluate((head) => head.getBoundingClientRect().right);
    expect(right).to.be.at.most(390);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('shows values on the map with the arrow keys, and opens a market with Enter', async () => {
    const { page } = browser;
    await view('markets');
    const map = page.locator('.mapped');
    await map.press('ArrowRight');
    expect(await page.locator('.place .readout').textContent()).to.match(/^Atlanta, GA · Forecast \+5\.25%/);
    await page.keyboard.press('ArrowLeft');
    const west = (await page.locator('.place .readout').textContent())?.split(' · ')[0] ?? '';
    expect(west).to.be.oneOf(['Houston, TX', 'Tucson, AZ']);
    await page.keyboard.press('Enter');
    await heading(west).waitFor();
  });

  it('zooms the map with keys, buttons and the wheel, moves it by dragging, and shows all of it again', async () => {
    const { page } = browser;
    await page.setViewportSize({ width: 1440, height: 900 });
    await view('markets');
    const map = page.locator('.mapped');
    const box = async () => ((await page.locator('svg.map').getAttribute('viewBox')) ?? '').split(' ').map(Number);
    const [, , whole = 0] = await box();
    await map.press('+');
    const [left = 0, , width = 0] = await box();
    expect(width).to.be.closeTo(whole / 1.6, 1);
    await map.press('Shift+ArrowRight');
    expect((await box())[0]).to.be.above(left);
    await map.press('-');
    expect((await box())[2]).to.equal(whole);
    await page.getByRole('button', { name: 'Zoom in' }).click();
    const { x, y, width: wide, height } = (await map.boundingBox())!;
    await page.mouse.move(x + wide / 2, y + height / 2);
    await page.mouse.wheel(0, -600);
    await until('Number(document.querySelector("svg.map").getAttribute("viewBox").split(" ")[2]) < 2000');
    const before = await box();
    await page.mouse.down();
    await page.mouse.move(x + wide / 2 - 100, y + height / 2, { steps: 4 });
    await page.mouse.up();
    expect((await box())[0]).to.be.above(before[0]!);
    expect(await addressOf(page), 'dragging opens no market').to.match(/#\/markets$/);
    await page.getByRole('button', { name: 'Show the whole map' }).click();
    expect((await box())[2]).to.equal(whole);
    for (let step = 0; step < 5; step += 1) await map.press('+');
    for (const key of ['ArrowRight', 'ArrowLeft', 'ArrowUp']) await map.press(key);
    const [x0 = 0, y0 = 0, w = 0, tall = 0] = await box();
    const [cx = 0, cy = 0] = (await page.evaluate(`(() => {
      const { x, y, width, height } = document.querySelector('.ring .picked').getBBox();
      return [x + width / 2, y + height / 2];
    })()`)) as number[];
    expect([cx > x0, cx < x0 + w, cy > y0, cy < y0 + tall], 'the picked metro is visible').to.not.include(false);
  });

  it('zooms the map to the chosen state, and keeps it there until another state is chosen', async () => {
    const { page } = browser;
    await view('markets');
    const box = () => page.locator('svg.map').getAttribute('viewBox');
    const whole = await box();
    await page.getByLabel('State').selectOption('TX');
    const texas = await box();
    const [x = 0, y = 0, width = 0, height = 0] = `${texas}`.split(' ').map(Number);
    expect(width).to.be.below(Number(`${whole}`.split(' ')[2]) / 2);
    const bright = (await page.evaluate(`[...document.querySelectorAll('.metro:not([fill^="url"])')].map((shape) => {
      const { x, y, width, height } = shape.getBBox();
      return [x, y, x + width, y + height];
    })`)) as [number, number, number, number][];
    expect(bright).to.have.length.above(0);
    expect(await page.locator('.place > .legend').innerText()).to.contain('not selected');
    for (const [left, top, right, bottom] of bright)
      expect([left >= x, top >= y, right <= x + width, bottom <= y + height]).to.not.include(false);
    await page.locator('.mapped').press('+');
    const closer = await box();
    await page.locator('#by-signal').selectOption('hold');
    expect(await box()).to.equal(closer);
    await view('markets?state=TX');
    expect(await box()).to.equal(texas);
    await page.getByLabel('State').selectOption('');
    expect(await box()).to.equal(whole);
  });

  it('names the period of the map, and saves it with title, legend, source and address', async () => {
    const { page } = browser;
    await view('markets?colour=last');
    expect(await page.locator('.time output').innerText()).to.equal('Change from 2024 Q4 to 2025 Q4');
    const title = 'Change in house prices, 2024 Q4 to 2025 Q4';
    expect(await page.locator('.place .map-title').first().innerText()).to.equal(title);
    expect(await page.locator('.place .legend').first().innerText()).to.contain('no index');
    const saved = async (name: string) => {
      const waiting = page.waitForEvent('download');
      await page.locator('.place').getByRole('button', { name, exact: true }).first().click();
      return readFile(await (await waiting).path());
    };
    const picture = (await saved('SVG')).toString();
    for (const text of [title, 'no index', FHFA_ATTRIBUTION, '/explore', 'reconstructed'])
      expect(picture).to.contain(text);
    expect(picture).not.to.contain('var(--');
    const png = await saved('PNG');
    expect([png.subarray(1, 4).toString(), png.readUInt32BE(16)]).to.deep.equal(['PNG', 2400]);
  });

  it('shows a map for each year with one scale, and opens the run of a year', async () => {
    const { page } = browser;
    await view('markets');
    await page.getByLabel('A map for each year').check();
    await page.locator('.years button').first().waitFor();
    expect(await addressOf(page)).to.contain('maps=years');
    expect(await page.locator('.years button span').allInnerTexts()).to.include('Year to 2026 Q4');
    expect(await page.locator('.each-year .legend').innerText()).to.contain('no index');
    const waiting = page.waitForEvent('download');
    await page.locator('.each-year').getByRole('button', { name: 'SVG' }).click();
    expect(await readFile(await (await waiting).path(), 'utf8')).to.contain('Year to 2026 Q4');
    expect(await accessibilityProblems(page)).to.deep.equal([]);
    await page.locator('.years button').first().click();
    await page.locator('.time').waitFor();
    expect(await addressOf(page)).not.to.contain('maps=years');
  });

  it('opens the first option of the search with Enter: nicknames, ZIP codes, series and divided metros', async () => {
    const { page } = browser;
    for (const [query, expected] of [
      ['space city', 'Houston, TX'],
      ['77002', 'Houston, TX'],
      ['unrate', 'Unemployment Rate'],
      ['new york', 'New York-Jersey City-White Plains, NY-NJ'],
    ] as const) {
      await view('status');
      await page.getByLabel('Search markets').fill(query);
      await page.getByRole('option').first().waitFor();
      await page.keyboard.press('Enter');
      await heading(expected).waitFor();
    }
    await view('markets');
    await page.getByLabel('Search markets').fill('35620');
    await page.getByRole('option', { name: /New York-Newark.*4 divisions/ }).waitFor();
    await page.keyboard.press('Enter');
    await until('location.hash.includes("q=35620")');
    await page.getByText('1 of 5 markets').waitFor();
    await page.getByLabel('Search markets').fill('77002');
    await page.getByText('1 of 5 markets').waitFor();
    await page
      .getByRole('cell', { name: 'Houston, TX' })
      .or(page.getByRole('rowheader', { name: 'Houston, TX' }))
      .waitFor();
    await view('markets?q=77002');
    await page.getByText('1 of 5 markets').waitFor();
    await view('compare');
    await page.getByLabel('Add a market or a series').fill('77002');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Remove Houston, TX' }).waitFor();
  });

  it('offers the divisions of a divided metro', async () => {
    const { page } = browser;
    await view('markets/35620');
    await heading('New York-Newark-Jersey City, NY-NJ has an index only for its divisions').waitFor();
    await page.getByRole('link', { name: 'New York-Jersey City-White Plains, NY-NJ' }).click();
    await heading('New York-Jersey City-White Plains, NY-NJ').waitFor();
    await view(`compare?m=35620,${fixture.HOUSTON}&from=2025`);
    await page.getByText('New York-Newark-Jersey City, NY-NJ has an index only for its divisions.').waitFor();
    await page.getByRole('button', { name: 'New York-Jersey City-White Plains, NY-NJ' }).click();
    await until(`location.hash.includes('m=${fixture.HOUSTON},${NEW_YORK}')`);
  });

  it('keeps the address of the next view if the ZIP codes load after the user has left the list', async () => {
    const { page } = browser;
    await view('markets');
    const zipCodes = await holdFirst(page, '**/zip-codes.json');
    await page.getByLabel('Search markets').fill('77002');
    await zipCodes.requested;
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Status' }).click();
    await until('location.hash === "#/status"');
    await zipCodes.release();
    expect(await addressOf(page)).to.match(/#\/status$/);
  });

  it('compares the markets and series in the URL, and saves the picture and the numbers', async () => {
    const { page } = browser;
    await view(`compare?m=${fixture.ATLANTA},${fixture.HOUSTON}&s=UNRATE&from=2025`);
    const plot = page.locator('.plot');
    await plot.press('End');
    const level = (of: number, base: number) => ((100 * of) / base).toFixed(1);
    const readout = page.locator('.readout');
    // The first quarter with values for all lines is the last one.
    expect(await readout.textContent()).to.equal(
      '2025 Q4 · Atlanta, GA 100.0 · Houston, TX 100.0 · Unemployment Rate (UNRATE) 100.0',
    );
    await plot.press('ArrowLeft');
    expect(await readout.textContent())
      .to.contain(`Houston, TX ${level(300.1, 306.12)}`)
      .and.contain(`Unemployment Rate (UNRATE) ${level(4.35, 4.5)}`);
    const saved = async (name: string) => {
      const waiting = page.waitForEvent('download');
      await page.getByRole('button', { name, exact: true }).click();
      return readFile(await (await waiting).path());
    };
    expect((await saved('CSV: as shown')).toString().split('\r\n')[0]).to.equal(
      'date,"Atlanta, GA","Houston, TX",Unemployment Rate (UNRATE)',
    );
    const picture = (await saved('SVG')).toString();
    expect(picture).to.contain('Atlanta, Houston, UNRATE').and.contain(FHFA_ATTRIBUTION).and.contain('up to 2025 Q4');
    expect(picture).not.to.contain('var(--');
    const png = await saved('PNG');
    expect(png.subarray(1, 4).toString()).to.equal('PNG');
    expect(png.readUInt32BE(16)).to.equal(2400);
    const both = await saved('PNG and CSV');
    const entries = (await entriesOf(both)).map(({ name, bytes }) => [name.split('.').at(-1), bytes.toString()]);
    expect(entries.map(([extension]) => extension)).to.deep.equal(['png', 'csv']);
    expect(entries[1]?.[1]).to.match(/^date,"Atlanta, GA","Houston, TX",/);
    const wide = (await page.evaluate(`(async () => {
      const { textWidth, wrap } = await import('/explore/core/pages/data-views/svg.js');
      const lines = wrap('House prices in New York-Jersey City-White Plains, '.repeat(4).trim(), 600, 25, 650);
      return lines.map((line) => textWidth(line, 25, 650));
    })()`)) as number[];
    for (const width of wide) expect(width, 'a line of a title').to.be.at.most(600);
    await page.getByRole('button', { name: 'Remove Unemployment Rate' }).click();
    await until('!location.hash.includes("UNRATE")');
    expect((await saved('SVG')).toString()).to.contain('>House prices: Atlanta, Houston<');
    await view(`compare?m=${fixture.ATLANTA},${fixture.HOUSTON}&s=UNRATE&from=2025`);
    await page.getByRole('button', { name: 'Remove Houston, TX' }).click();
    await until('!location.hash.includes("26420")');
    await page.getByLabel('Add a market or a series').fill('detroit mi');
    await page.keyboard.press('Enter');
    await until('location.hash.includes("m=12060,19820&s=UNRATE&from=2025")');
    await page.getByText('API calls').click();
    await page.getByText('Python', { exact: true }).click();
    const pre = page.locator('pre').first();
    await pre.filter({ hasText: 'API_KEY' }).filter({ hasText: 'pandas' }).waitFor();
    const code = await pre.innerText();
    expect(code).to.contain('cbsa=12060,19820&since=2025').and.not.contain(app.key);
  });

  it('marks reconstructed forecasts, with a link, in views, pictures and files', async () => {
    const { page } = browser;
    const words = page.locator('main a', { hasText: /^reconstructed$/ });
    for (const [address, least] of [
      ['markets', 2],
      ['movers', 2],
      [`markets/${fixture.HOUSTON}`, 2],
      ['backtest', 0],
    ] as const) {
      await view(address);
      await page.locator('main .tools').first().waitFor();
      expect(await words.count(), address).to.be.at.least(least);
      for (const link of await words.all())
        expect(await link.getAttribute('href')).to.equal('/docs/methodology#record-and-reconstruction');
    }
    expect((await request(`${app.origin}/docs/methodology`)).status).to.equal(200);
    await view('markets');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV: as shown' }).click(),
    ]);
    const [heads = '', first = ''] = (await readFile(await download.path(), 'utf8')).split('\r\n');
    expect([heads.split(',').at(-1), first.split(',').at(-1)]).to.deep.equal(['basis', 'reconstructed']);
    await view(`markets/${fixture.HOUSTON}`);
    const [picture] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('#forecasts').getByRole('button', { name: 'SVG' }).click(),
    ]);
    expect(await readFile(await picture.path(), 'utf8')).to.contain('reconstructed');
  });

  it('copies a link to a list, and to one figure of a view', async () => {
    const { page } = browser;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const copied = async (figure: number) => {
      await page.getByRole('button', { name: 'Copy link' }).nth(figure).click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      return (await page.evaluate('navigator.clipboard.readText()')) as string;
    };
    await view('markets?state=TX&sort=-last');
    expect(await copied(0)).to.equal(await addressOf(page));
    await view(`markets/${fixture.HOUSTON}?show=change`);
    const link = await copied(1);
    expect(link).to.match(/#\/markets\/26420\?show=change&figure=forecasts$/);
    await page.goto('about:blank');
    await page.goto(link);
    await page.locator('#forecasts .plot svg').waitFor();
    expect(await page.getByRole('radio', { name: 'Yearly change' }).isChecked()).to.equal(true);
  });

  it('adds a list of names to a comparison at once, and explains which names it does not know', async () => {
    const { page } = browser;
    await view('compare');
    await page.getByLabel('Add a market or a series').fill('nowhere; nothing');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'nothing: No market or series has this name.' }).waitFor();
    expect(await page.getByLabel('Add a market or a series').inputValue()).to.equal('nowhere; nothing');
    await page.getByLabel('Add a market or a series').fill('atlanta, nowhere; Houston, TX, unrate');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'nowhere: No market or series has this name.' }).waitFor();
    await until(`location.hash.includes('m=${fixture.ATLANTA},${fixture.HOUSTON}&s=UNRATE')`);
    await page.locator('.chips li').nth(2).waitFor();
    expect(await page.locator('.chips li').count()).to.equal(3);
  });

  it('shows an example comparison, which the first added market replaces', async () => {
    const { page } = browser;
    await view('compare');
    expect(await page.locator('.chips li').count()).to.equal(2);
    const hint = page.getByText('This is an example. Your first market or series replaces it.');
    expect(await hint.isVisible()).to.equal(true);
    for (const name of ['detroit mi', 'houston']) {
      await page.getByLabel('Add a market or a series').fill(name);
      await page.keyboard.press('Enter');
    }
    await page.locator('.chips li').nth(1).waitFor();
    expect(await addressOf(page)).to.contain('m=19820,26420');
    expect(await page.locator('.chips li').count()).to.equal(2);
    expect(await hint.isVisible()).to.equal(false);
  });

  it('reaches Houston’s fan chart in two clicks from its first page', async () => {
    const { page } = browser;
    await view('');
    await page.getByLabel('Search markets').click();
    await page.keyboard.type('Houston');
    await page.locator('tbody td').first().click();
    await heading('Houston, TX').waitFor();
    await page.locator('figure .plot svg').first().waitFor();
    expect(await page.evaluate('document.activeElement.tagName')).to.equal('H1');
    const { lower_80, upper_80 } = (await app.get(`/markets/${fixture.HOUSTON}/forecast-track`)).json.data.at(-1);
    const figures = await page.locator('.figures').innerText();
    for (const bound of [lower_80, upper_80]) expect(figures).to.contain(fixed(bound));
    expect(figures).to.contain('+1.50%').and.contain('+2.00%');
    expect(await page.locator('#notes').innerText()).to.equal(FHFA_ATTRIBUTION);
  });

  it('draws the index, the forecast and its band, and shows their values with the arrow keys', async () => {
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
      `2026 Q4 · Forecast ${level(point)} · 80% band ${level(lower_80)} to ${level(upper_80)}`,
    );
    await figure.locator('.plot').press('Home');
    expect(await figure.locator('.readout').innerText()).to.equal('2025 Q3 · Index 300.10');
    const [due] = (await app.get(`/markets/${fixture.HOUSTON}/forecast-track`)).json.data;
    const past = page.locator('figure').nth(1);
    await past.locator('.plot').press('Home');
    const error = `Error ${due.error_pp > 0 ? '+' : ''}${fixed(due.error_pp)} pp`;
    expect(await past.locator('.readout').innerText())
      .to.match(/^2025 Q4 · Outcome /)
      .and.contain(error);
    expect(await past.locator('.values').innerText()).to.contain(error.slice(6));
    await past.locator('.plot').press('End');
    expect(await past.locator('.readout').innerText()).not.to.contain('Error');
  });

  it('offers each chart’s rows as a table, as CSV and as an API call without the key', async () => {
    const { page } = browser;
    await view(`markets/${fixture.HOUSTON}`);
    const figure = page.locator('figure').first();
    await figure.getByText('Data as a table').click();
    await figure.locator('tbody tr').first().waitFor();
    const { data } = (await app.get(`/markets/${fixture.HOUSTON}/history`)).json;
    expect((await figure.locator('tbody tr').allInnerTexts()).toReversed()).to.deep.equal(
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
    const call = await figure.locator('pre').first().innerText();
    expect(call)
      .to.contain(`${app.url}/markets/${fixture.HOUSTON}/history`)
      .and.contain('$API_KEY')
      .and.not.contain(app.key);
  });

  it('shows one chart at /explore/embed, in frames of the configured origins only', async () => {
    const { page } = browser;
    const policyOf = async (path: string) =>
      String((await request(`${app.origin}${path}`)).headers['content-security-policy']);
    expect(await policyOf('/explore/embed')).to.contain(`frame-ancestors ${FRAMER}`);
    expect(await policyOf('/explore')).to.contain("frame-ancestors 'none'");
    const address = `#/compare?m=${fixture.ATLANTA}&from=2025`;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: app.origin });
    await view(address.slice(2));
    await page.locator('summary').getByText('Embed').click();
    await page.getByText(`Only pages from ${FRAMER} can embed this figure.`).waitFor();
    await page.getByRole('button', { name: 'Copy embed' }).click();
    await page.getByText('Copied').waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).to.match(
      /^<iframe src="[^"]+\/explore\/embed#\/compare\?m=12060&amp;from=2025" title="House prices in Atlanta/,
    );
    await page.goto(`${app.origin}/explore/embed${address}`);
    await page.locator('.plot svg').waitFor();
    expect(await page.locator('header, form').filter({ visible: true }).count()).to.equal(0);
    expect(await page.locator('#notes').innerText()).to.equal(FHFA_ATTRIBUTION);
    const { data } = (await app.get('/series')).json;
    const index = data.find(({ kind }: { kind: string }) => kind === 'metro');
    const sources = page.locator('.source').filter({ visible: true });
    expect(await sources.allInnerTexts()).to.deep.equal([`Source: ${index.source}`]);
    await page.goto(`${app.origin}/explore/embed?map#/markets`);
    await page.locator('svg.map').waitFor();
    expect(await sources.allInnerTexts()).to.deep.equal([`Source: ${index.source}; forecasts by test-1.0`]);
    await page.setViewportSize({ width: 600, height: 460 });
    await page.goto(`${app.origin}/explore/embed?second#/markets/${fixture.HOUSTON}?figure=forecasts`);
    await page.locator('#forecasts .plot svg').waitFor();
    expect(await page.locator('figure').filter({ visible: true }).count()).to.equal(1);
    expect(await page.locator('h1').filter({ visible: true }).innerText()).to.match(/^Houston, TX: house prices/);
    await until('document.documentElement.scrollHeight <= innerHeight');
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${app.origin}/explore/embed?first${address}`);
    await page.locator('.plot svg').waitFor();
    const link = page.getByRole('link', { name: 'Open in Metro Forecast API' });
    await page.evaluate(
      'document.querySelector(".whole a").addEventListener("click", (event) => event.preventDefault())',
    );
    await link.click();
    expect(await link.getAttribute('href')).to.equal(`/explore${address}`);
    expect(await accessibilityProblems(page)).to.deep.equal([]);
  });

  it('draws the backtest by year, compares grades with predictions, and sorts the worst first', async () => {
    const { page } = browser;
    await view('backtest');
    const { data } = (await app.get('/forecast-backtest/breakdown?by=grade')).json;
    const table = page.locator('table', { hasText: 'Declines by risk grade' });
    const heads = await table.locator('thead th').allInnerTexts();
    expect(heads, 'no outcome is older than 2014').to.deep.equal([
      ...['Grade', 'Declines from 2014', 'From 2014', 'Forecasts'],
    ]);
    const limits = new Map([
      ['A', 'below 10%'],
      ['B', 'from 10% to below 20%'],
      ['C', 'from 20% to below 35%'],
      ['D', 'from 35% to below 50%'],
      ['F', '50% or more'],
    ]);
    const cells = (await table.locator('tbody tr').allInnerTexts()).map((row) => row.split('\t'));
    for (const [grade = ''] of cells) expect(grade.slice(1).trim()).to.equal(limits.get(grade[0] ?? ''));
    const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
    expect(cells.map(([grade, declined]) => [grade?.[0], ...(declined ?? '').trim().split('\n')])).to.deep.equal(
      data.map((row: Record<'group', string> & Record<'decline_share' | 'predicted_decline_share', number>) => [
        ...[row.group, percent(row.decline_share), `predicted: ${percent(row.predicted_decline_share)}`],
      ]),
    );
    expect(await table.locator('tbody svg rect').count()).to.equal(data.length);
    await page.locator('.plot').first().press('End');
    const [year] = (await app.get('/forecast-backtest/breakdown?by=year')).json.data;
    expect(await page.locator('.readout').first().textContent()).to.equal(
      `${year.group} · Model ${year.mae_pp.toFixed(2)} pp · Best benchmark ${Math.min(year.benchmark_mae_pp, year.ar1_nation_mae_pp, year.shrunk_mean_mae_pp).toFixed(2)} pp`,
    );
  });

  it('formats periods by cadence: quarters, months and days', async () => {
    const { page } = browser;
    const cells = async (table: number) =>
      page.locator('table').nth(table).locator('tbody td.date:not(.wide)').allInnerTexts();
    await view('status');
    expect(await cells(1), 'status').to.include.members(['2025 Q4']);
    await view('series');
    expect(await cells(0), 'series').to.include.members(['2025 Q4', '2025-11']);
    await view('series/PAYEMS');
    expect(await page.locator('h1').innerText()).to.contain('in November 2025');
  });

  it('leaves room for two words of a name on a narrow screen', async () => {
    const { page } = browser;
    for (const name of ['movers', 'status', 'series']) {
      for (const width of [390, 768]) {
        await page.setViewportSize({ width, height: 900 });
        await view(name);
        const narrow = await page
          .locator('tbody th')
          .last()
          .evaluate((head) => head.getBoundingClientRect().width);
        expect(narrow, `${name} at ${width} pixels`).to.be.at.least(140);
      }
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await view('markets');
    await page.locator('#notes p').waitFor();
    const left = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((each) => Math.round(each.getBoundingClientRect().left));
    expect(await left('#notes p'), 'the attribution').to.equal(await left('h1'));
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('shows the age of the sources without a key', async () => {
    await view('status');
    await browser.page.getByRole('button', { name: 'Forget key' }).click();
    await browser.page.waitForSelector('#forget[hidden]', { state: 'attached' });
    const rows = await browser.page.locator('table').nth(1).locator('tbody tr').allInnerTexts();
    const sources: { id: string; state: string }[] = (await app.get('/status')).json.sources;
    const inReverse = sources.toSorted((a, b) => b.state.localeCompare(a.state) || a.id.localeCompare(b.id));
    const cells = rows.map((row) => row.split('\t').map((cell) => cell.split('\n')[0]));
    expect(cells.map((row) => row.slice(0, 2))).to.deep.equal(inReverse.map(({ id, state }) => [id, state]));
    expect(await browser.page.evaluate('localStorage.length + sessionStorage.length')).to.equal(0);
  });

  it('shows no age for synthetic sources, because they do not age', async () => {
    await view('status');
    const table = browser.page.locator('table').nth(1);
    expect(await table.innerText())
      .to.include('Latest period')
      .and.not.match(/\bold\b|Age|Late, stale/);
  });

  it('has room for the hint in the search box next to the keyboard shortcut', async () => {
    const { page } = browser;
    await view('status');
    await page.getByRole('button', { name: 'Forget key' }).waitFor();
    await page.setViewportSize({ width: 1150, height: 900 });
    const room = await page.evaluate(`(() => {
      const [input, shortcut] = ['#search', '#finder kbd'].map((each) => document.querySelector(each));
      const { font, paddingInlineStart } = getComputedStyle(input);
      const context = Object.assign(document.createElement('canvas').getContext('2d'), { font });
      const start = input.getBoundingClientRect().left + parseFloat(paddingInlineStart);
      return shortcut.getBoundingClientRect().left - start - context.measureText(input.placeholder).width;
    })()`);
    expect(room).to.be.above(0);
  });

  it('gives up after 30 seconds without a response, and tries again', async () => {
    const { page } = browser;
    await view('status');
    await page.evaluate(`(() => {
      const wait = globalThis.setTimeout;
      globalThis.setTimeout = (work, time) => wait(work, time === 30_000 ? 300 : time);
    })()`);
    await page.route('**/forecast-backtest', () => undefined);
    await page.evaluate(`location.hash = '#/backtest'`);
    await heading('The service does not respond').waitFor();
    await page.unroute('**/forecast-backtest');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'The service does not respond' }).waitFor({ state: 'detached' });
  });

  it('explains what to do for every error', async () => {
    const { page } = browser;
    const cases: readonly [number, Record<string, string>, string, RegExp][] = [
      [429, { 'Retry-After': '7' }, 'Too many requests', /Try again in 7 seconds/],
      [503, { 'Retry-After': '1' }, 'temporarily unavailable', /Try again in 1 second./],
      [500, {}, 'That did not work', /a message of the service/],
    ];
    for (const [status, headers, name, advice] of cases) {
      await page.route('**/markets?*', (route) =>
        route.fulfill({ status, headers, json: { error: 'a message of the service', code: 'a_code' } }),
      );
      await view('markets');
      await heading(name).waitFor();
      const notice = page.getByRole('alert');
      expect(await notice.innerText()).to.match(advice);
      await page.unroute('**/markets?*');
      await notice.getByRole('button', { name: 'Try again' }).click();
      await heading('metros').waitFor();
    }
    await page.route('**/markets?*', (route) => route.abort());
    await view('markets');
    await heading('The service cannot be reached').waitFor();
    await page.unroute('**/markets?*');
    await page.route('**/movers.js', (route) => route.abort());
    await view('movers');
    await heading('This view cannot be loaded').waitFor();
    await page.unroute('**/movers.js');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { level: 1, name: /forecast/ }).waitFor();
    await page.route('**/map.json', (route) => route.fulfill({ status: 503, json: {} }));
    await view('markets');
    await heading('temporarily unavailable').waitFor();
    expect(await page.getByRole('link', { name: 'Status of the service' }).getAttribute('href')).to.equal('#/status');
    await page.unroute('**/map.json');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('svg.map').waitFor();
    await view('markets/99999');
    await page.getByText('There is no market with the CBSA code 99999').waitFor();
    expect(await page.getByRole('link', { name: 'All markets' }).getAttribute('href')).to.equal('#/markets');
    await view('series/NOTHING');
    expect(await page.getByRole('link', { name: 'All series' }).getAttribute('href')).to.equal('#/series');
    await view(`compare?m=99999,${fixture.HOUSTON}&s=NOTHING&from=2025`);
    await page
      .getByText('There is no market 99999, so it was left out. There is no series NOTHING, so it was left out.')
      .waitFor();
    expect(await page.locator('.chips li').count()).to.equal(1);
    await page.route('**/observations?*', (route) => route.fulfill({ status: 503, json: { error: 'e', code: 'c' } }));
    await page.getByText('Difference from the nation').click();
    await page.getByRole('alert').filter({ hasText: 'temporarily unavailable' }).waitFor();
    await page.unroute('**/observations?*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.plot svg').waitFor();
    await view('nowhere');
    await page.getByText('There is no such view').waitFor();
  });

  it('shows data as text, even if it looks like markup', async () => {
    const { page, complaints } = browser;
    const name = '<img src=x onerror=alert(1)>';
    await page.route('**/markets?*', (route) =>
      route.fulfill({
        json: { data: [{ cbsa: '1"><b>', name, signal: null, risk_score: null, yoy_price: null, forecast_12m: null }] },
      }),
    );
    await view('markets');
    expect(await page.locator('tbody th').innerText()).to.equal(name);
    expect(await page.locator('tbody img').count()).to.equal(0);
    await page.unroute('**/markets?*');
    expect(complaints).to.deep.equal([]);
  });

  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const) {
    it(`marks synthetic data, and has no accessibility problem, error or overflow, ${colorScheme} at ${width} pixels`, async function () {
      this.timeout(60_000);
      const { page, complaints } = browser;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      for (const name of VIEWS) {
        await view(name);
        await page.evaluate('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
        await page.locator('.banner', { hasText: 'Synthetic data' }).waitFor();
        expect(await accessibilityProblems(page), name).to.deep.equal([]);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), name).to.be.at.most(0);
      }
      expect(complaints).to.deep.equal([]);
    });
  }

  for (const width of [768, 390]) {
    it(`has no table wider than the page at ${width} pixels`, async () => {
      const { page } = browser;
      await page.setViewportSize({ width, height: 900 });
      for (const name of ['markets', 'movers', 'series', 'backtest', 'status', 'data']) {
        await view(name);
        const wider = await page.evaluate(
          '[...document.querySelectorAll(".scroll")].filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.getAttribute("aria-label"))',
        );
        expect(wider, name).to.deep.equal([]);
      }
    });
  }

  it('has a skip link', async () => {
    const { page } = browser;
    await view('markets');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).to.equal('main');
    expect(await addressOf(page)).to.match(/#\/markets$/);
  });
});

describe('the explorer with FHFA’s index at full size', () => {
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
    expect(await page.locator('.map .metro').count()).to.equal(410);
    expect(await page.locator('.facts').innerText()).to.match(
      / · vintage of 2026-02-24 · reconstructed · Methodology$/,
    );
    expect(await page.locator('.list tbody tr').count()).to.equal(50);
    await page.getByRole('button', { name: 'Show all 410' }).click();
    expect(await addressOf(page)).to.match(/rows=all$/);
    await page.getByRole('link', { name: /^Houston/ }).click();
    const figure = page.locator('figure').first();
    await figure.locator('.plot svg').waitFor();
    const getJson = async (target: string) =>
      (await request(`${url}${target}`, { headers: { Authorization: `Bearer ${key}` } })).json;
    const { forecast_12m } = await getJson('/markets/26420');
    const { lower_80, upper_80 } = (await getJson('/markets/26420/forecast-track')).data.at(-1);
    const shown = await page.locator('.figures').innerText();
    for (const figure of [forecast_12m, lower_80, upper_80]) expect(shown).to.contain(`${fixed(figure)}%`);
    await figure.getByText('Data as a table').click();
    await figure.getByRole('button', { name: 'Show all 200' }).click();
    const { data } = await getJson('/markets/26420/history');
    const values = (await figure.locator('tbody td').allInnerTexts()).toReversed();
    const numbers = values.map((text) => Number(text.replace('−', '-')));
    expect(numbers).to.deep.equal(data.map(({ value }: { value: number }) => value));
    expect(values).to.have.length(200);
    expect(await page.locator('#notes').innerText()).to.equal(FHFA_ATTRIBUTION);
    expect(await page.locator('.banner').isVisible()).to.equal(false);
    expect(complaints).to.deep.equal([]);
  });

  it('shows and saves an index in real terms with the values and the last quarter from the API', async () => {
    const { page } = browser;
    const get = (target: string) => request(`${url}${target}`, { headers: { Authorization: `Bearer ${key}` } });
    const figure = page.locator('figure').first();
    for (const [show, units, heading] of [
      ['real', 'real', 'Real terms'],
      ['change', 'yoy', 'Yearly change'],
    ]) {
      await page.goto(`${new URL(url).origin}/explore?${show}#/markets/26420?show=${show}`);
      await figure.locator('.plot svg').waitFor();
      const target = `/observations?series_id=metro_hpi&cbsa=26420&units=${units}`;
      const waiting = page.waitForEvent('download');
      await figure.getByRole('button', { name: 'CSV: index' }).click();
      expect(await readFile(await (await waiting).path(), 'utf8')).to.equal((await get(`${target}&format=csv`)).text);
      await figure.getByText('Data as a table').click();
      await figure.getByRole('button', { name: 'Show all' }).click();
      expect((await figure.locator('thead th').allInnerTexts()).at(-1)).to.equal(heading);
      const { data } = (await get(target)).json;
      const values = (await figure.locator('tbody td').allInnerTexts()).toReversed();
      const numbers = values.map((text) => Number(text.replace('−', '-')));
      expect(numbers).to.deep.equal(data.map(({ value }: { value: number }) => value));
    }
    const { data } = (await get('/observations?series_id=metro_hpi&cbsa=26420&units=real')).json;
    // Consumer prices of October 2025 were never published.
    expect(data.at(-1)).to.include({ period_start: '2025-07-01', base_period: '2025-11-01' });
  });

  it('names the members of a comparison that are in real terms', async () => {
    const { page } = browser;
    await page.goto(`${new URL(url).origin}/explore?compared#/compare?m=26420&s=UNRATE,GDP&real=1`);
    const note = page.locator('.plot .unit').first();
    await note.getByText(/adjusted for consumer prices, in prices of 2\d{3}-\d\d \(UNRATE as published\)/).waitFor();
    await page.goto(`${new URL(url).origin}/explore?rates#/compare?m=&s=UNRATE&real=1`);
    await note.getByText('not adjusted for consumer prices').waitFor();
  });

  it('finds a city with its state, a state code and a state name', async () => {
    const { page } = browser;
    await page.goto(`${new URL(url).origin}/explore?search#/markets`);
    await page.getByText('410 markets').waitFor();
    const found = async (query: string) => {
      await page.getByLabel('Search markets').fill(query);
      await page.getByText(/^\d+ of 410 markets$/).waitFor();
      return page.locator('tbody th').allInnerTexts();
    };
    expect(await found('Houston, TX')).to.deep.equal(['Houston-Pasadena-The Woodlands, TX']);
    expect(await found('New York, NY')).to.include('New York-Jersey City-White Plains, NY-NJ');
    for (const [query, state] of [
      ['NY', /, .*\bNY\b/],
      ['texas', /, .*\bTX\b/],
    ] as const) {
      const names = await found(query);
      expect(names, query).to.have.length.within(10, 30);
      for (const name of names) expect(name, query).to.match(state);
    }
  });

  it('suggests markets for an ambiguous name, and shows the number of movers', async () => {
    const { page } = browser;
    await page.goto(`${new URL(url).origin}/explore#/compare?m=26420&from=2008`);
    await page.getByLabel('Add a market or a series').fill('portland');
    await page.keyboard.press('Enter');
    const offered = page.getByRole('group', { name: 'Markets found' }).getByRole('button');
    expect(await offered.allInnerTexts()).to.have.members([
      'Portland-South Portland, ME',
      'Portland-Vancouver-Hillsboro, OR-WA',
    ]);
    await offered.getByText('ME').click();
    await page.getByRole('button', { name: 'Remove Portland' }).waitFor();
    expect(await addressOf(page)).to.contain('m=26420,38860');
    expect(await offered.count()).to.equal(0);
    await page.goto(`${new URL(url).origin}/explore?again#/movers`);
    await page.getByText('The 50 largest changes among the 12-month forecasts of 410 markets').waitFor();
  });
});

describe('the explorer with an empty dataset', () => {
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

  it('explains what is missing and how to add it', async () => {
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
    expect(await page.locator('.banner').isVisible()).to.equal(false);
    expect(complaints).to.deep.equal([]);
  });
});

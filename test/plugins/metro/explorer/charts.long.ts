import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { App } from '../../../../core/app/app-types.js';
import { MemoryKeyStore } from '../../../../core/keys/memory-key-store.js';
import { createApp, loadConfig } from '../../../../product.js';
import { accessibilityProblems, addressOf, BROWSED, openBrowser, type TestBrowser } from '../../../support/browser.js';
import { runProcess } from '../../../support/command-process.js';
import { request } from '../../../support/http-client.js';
import { LABEL_PROBLEMS, LAYOUT_PROBLEMS } from '../../../support/page-files.js';
import { needSharedData } from '../../../support/shared-data.js';
import { addKey } from '../../../support/test-app.js';

describe('the explorer’s charts with all series and twenty markets', () => {
  let folder: string;
  let app: App;
  let browser: TestBrowser;
  let origin: string;
  let rowsOf: (target: string) => Promise<Record<string, string>[]>;
  before(async function () {
    this.timeout(120_000);
    const data = needSharedData(this);
    folder = await mkdtemp(join(tmpdir(), 'metro-forecast-charts-'));
    const dataset = join(folder, 'dataset');
    const sources = [join(data, 'fhfa/hpi_at_metro_2025Q4.csv'), join(data, 'macro')];
    await runProcess(['import', ...sources, '--to', dataset, '--vintage', '2026-02-24'], {});
    await runProcess(['forecast', dataset], {});
    const config = join(folder, 'config.json');
    await writeFile(
      config,
      JSON.stringify({
        plugins: ['markets', 'forecasts', 'observations', 'signals', 'vintages', 'status', 'docs', 'explore'],
        adapter: { use: 'json', options: { path: 'dataset' } },
        limits: { requestsPerMinute: 100_000 },
        log: { level: 'silent' },
        server: BROWSED,
      }),
    );
    const keyStore = new MemoryKeyStore();
    const { key } = await addKey(keyStore);
    app = await createApp(await loadConfig({ path: config, env: {} }), { keyStore });
    const { url } = await app.listen();
    origin = new URL(url).origin;
    rowsOf = async (target) =>
      (await request(`${url}${target}`, { headers: { Authorization: `Bearer ${key}` } })).json.data;
    browser = await openBrowser(this, { origin });
    await browser.page.goto(`${origin}/explore#/status`);
    await browser.page.evaluate(`sessionStorage.setItem('metro-forecast-key', '${key}')`);
  });
  after(async () => {
    await browser?.close();
    await app?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  for (const width of [1440, 768, 390]) {
    it(`have no clipped or covered label at a width of ${width} pixels`, async function () {
      this.timeout(240_000);
      const { page, complaints } = browser;
      await page.setViewportSize({ width, height: 900 });
      const series = (await rowsOf('/series')).filter(({ kind }) => kind === 'macro');
      const markets = await rowsOf('/markets');
      const divisions = markets.filter(({ name }) => /^(New York|Nassau|Newark|Lakewood)/.test(`${name}`));
      const spread = markets.filter((_, index) => index % 25 === 0);
      const views = [
        ...series.map(({ series_id }) => `series/${series_id}`),
        ...[...divisions, ...spread].flatMap(({ cbsa }) => [`markets/${cbsa}`, `markets/${cbsa}?show=change&years=0`]),
        `compare?m=${spread
          .slice(0, 8)
          .map(({ cbsa }) => cbsa)
          .join(',')}`,
        'backtest',
      ];
      expect(divisions).to.have.length.above(2);
      expect(views).to.have.length.above(50);
      const problems: Record<string, unknown> = {};
      for (const view of views) {
        await page.goto(`${origin}/explore?${view.length}-${views.indexOf(view)}#/${view}`);
        await page.locator('.plot > svg').first().waitFor();
        const found = [LABEL_PROBLEMS, LAYOUT_PROBLEMS].map((expression) => page.evaluate(expression));
        const problemsHere = ((await Promise.all(found)) as unknown[][]).flat();
        if (problemsHere.length > 0) problems[view] = problemsHere;
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), view).to.be.at.most(0);
      }
      expect(problems).to.deep.equal({});
      expect(complaints).to.deep.equal([]);
    });
  }

  const VIEWS = [
    'markets',
    'markets/26420',
    'compare?m=12420,19124,26420&s=UNRATE&show=rebased&real=1',
    'movers',
    'series',
    'series/UNRATE',
    'backtest',
    'status',
    'data',
  ];
  let visits = 0;
  const open = async (path: string) => {
    const [page = '', hash] = path.split('#');
    await browser.page.goto(`${origin}${page}?visit=${visits++}${hash === undefined ? '' : `#${hash}`}`);
    await browser.page.waitForSelector('main:not([aria-busy]) :is(h1, h2)');
    await browser.page.evaluate('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
  };

  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 768],
    ['dark', 390],
  ] as const) {
    it(`have no accessibility problem on any page, with all details open, ${colorScheme} at ${width} pixels`, async function () {
      this.timeout(240_000);
      const { page, complaints } = browser;
      complaints.length = 0;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      const problems: Record<string, string[]> = {};
      for (const path of [
        ...VIEWS.map((view) => `/explore#/${view}`),
        '/explore/embed#/markets/26420',
        '/docs',
        '/docs/calling',
        '/docs/methodology',
        '/docs/vintages',
      ]) {
        await open(path);
        const found = [...(await accessibilityProblems(page)), ...((await page.evaluate(LAYOUT_PROBLEMS)) as string[])];
        if (found.length > 0) problems[path] = found;
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), path).to.be.at.most(0);
      }
      expect(problems).to.deep.equal({});
      expect(complaints).to.deep.equal([]);
    });
  }

  for (const width of [1440, 390]) {
    it(`load within 150 kB, the map within 250 kB, and do not move on a slow network and processor at ${width} pixels`, async function () {
      this.timeout(240_000);
      const { page } = browser;
      await page.setViewportSize({ width, height: 900 });
      const session = await page.context().newCDPSession(page);
      await session.send('Network.enable');
      await session.send('Network.setCacheDisabled', { cacheDisabled: true });
      await session.send('Network.emulateNetworkConditions', {
        ...{ offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 1.6e6 / 8 },
      });
      await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
      let bytes = 0;
      session.on('Network.loadingFinished', ({ encodedDataLength }) => {
        bytes += encodedDataLength;
      });
      const moved = `new Promise((resolve) => {
      let sum = 0;
      new PerformanceObserver((list) => list.getEntries().forEach((each) => { sum += each.value; })).observe({ type: 'layout-shift', buffered: true });
      setTimeout(() => resolve(sum), 500);
    })`;
      try {
        for (const path of [...VIEWS.map((view) => `/explore#/${view}`), '/docs/methodology']) {
          bytes = 0;
          await page.goto(`${origin}${path.replace(/#|$/, `?slow=${visits++}$&`)}`);
          await page.waitForSelector('main:not([aria-busy]) h1');
          await page.waitForLoadState('networkidle');
          expect(bytes, path).to.be.below(path.endsWith('#/markets') ? 250_000 : 150_000);
          expect(await page.evaluate(moved), path).to.be.at.most(0.01);
        }
      } finally {
        await session.detach();
      }
    });
  }

  it('give screen readers a sentence for each chart and a table with its numbers', async function () {
    this.timeout(60_000);
    const { page } = browser;
    await page.setViewportSize({ width: 1280, height: 900 });
    const session = await page.context().newCDPSession(page);
    let charts = 0;
    for (const view of VIEWS) {
      await open(`/explore#/${view}`);
      const figures = page.locator('figure:has(.plot)');
      for (let index = 0; index < (await figures.count()); index += 1) {
        const figure = figures.nth(index);
        await figure.locator('details tbody tr').first().waitFor();
        const tree = await figure.ariaSnapshot();
        expect(tree, view).to.match(/group "[^"]{20,}\. Use the arrow keys to read the values\."/);
        expect(tree, `${view}, figure ${index}`).to.match(/table .*\n[\s\S]*columnheader[\s\S]*rowheader/);
        charts += 1;
      }
      expect(await page.locator('.plot').count(), view).to.equal(await figures.count());
      const { nodes } = await session.send('Accessibility.getFullAXTree');
      for (const { role, name, ignored } of nodes) {
        if (
          ignored ||
          !/^(button|link|textbox|searchbox|combobox|slider|radio|checkbox|table|figure|img)$/.test(role?.value)
        )
          continue;
        if (role?.value !== 'figure') expect(name?.value, `${view}: a ${role?.value} without a name`).not.to.equal('');
      }
    }
    await session.detach();
    expect(charts).to.be.above(5);
  });

  it('have a visible focus on every control', async function () {
    this.timeout(120_000);
    const { page } = browser;
    for (const path of [
      '/explore#/markets/26420',
      '/explore#/compare?m=12420,26420',
      '/explore#/data',
      '/explore#/backtest',
    ]) {
      await page.goto(`${origin}${path.replace('#', `?visit=${visits++}#`)}`);
      await page.waitForSelector('main:not([aria-busy]) h1');
      const wanted =
        (await page.evaluate(`[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
        .filter((each) => each.checkVisibility() && !each.disabled && !(each.type === 'radio' && !each.checked))
        .map((each, index) => (each.dataset.walk = String(index)))`)) as string[];
      await page.evaluate('document.activeElement.blur()');
      const reached = new Set<string>();
      const unseen: unknown[] = [];
      for (let step = 0; step < wanted.length + 4; step += 1) {
        await page.keyboard.press('Tab');
        const at = (await page.evaluate(`(() => {
          const each = document.activeElement;
          const shown = each.matches('input[type=radio]') ? each.nextElementSibling : each;
          const { width, height, top, bottom } = shown.getBoundingClientRect();
          const { outlineStyle } = getComputedStyle(shown);
          return { walk: each.dataset.walk, seen: width > 0 && height > 0 && bottom > 0 && top < innerHeight && outlineStyle !== 'none', is: each.outerHTML.slice(0, 80) };
        })()`)) as { walk?: string; seen: boolean; is: string };
        if (at.walk === undefined) continue;
        reached.add(at.walk);
        if (!at.seen) unseen.push(at.is);
      }
      expect(wanted.length, path).to.be.above(10);
      expect(unseen, path).to.deep.equal([]);
      expect(
        wanted.filter((each) => !reached.has(each)),
        path,
      ).to.deep.equal([]);
    }
  });

  it('show values on a tap, and let two fingers zoom the page or the map', async function () {
    this.timeout(60_000);
    const { page } = browser;
    const session = await page.context().newCDPSession(page);
    const screen = { width: 390, height: 844, deviceScaleFactor: 1, mobile: true };
    await session.send('Emulation.setDeviceMetricsOverride', screen);
    await session.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 2 });
    const middleOf = async (selector: string) => {
      const box = page.locator(selector).first();
      await box.scrollIntoViewIfNeeded();
      const { x, y, width, height } = (await box.boundingBox())!;
      return { x: Math.round(x + width / 2), y: Math.round(y + height / 2) };
    };
    const scale = () => page.evaluate('visualViewport.scale') as Promise<number>;
    try {
      for (const [view, selector] of [
        ['series/UNRATE', '.plot'],
        ['markets', '.mapped'],
      ] as const) {
        await page.goto(`${origin}/explore?visit=${visits++}#/${view}`);
        await page.waitForSelector('main:not([aria-busy]) h1');
        await session.send('Input.synthesizePinchGesture', { ...(await middleOf(selector)), scaleFactor: 2 });
        const isMap = view === 'markets';
        const width = Number(
          (
            await page
              .locator('svg.map')
              .getAttribute('viewBox')
              .catch(() => '')
          )?.split(' ')[2],
        );
        expect(isMap ? 4875 / width : await scale(), view).to.be.within(1.5, 2.5);
      }
      await page.goto(`${origin}/explore?visit=${visits++}#/series/UNRATE`);
      await page.waitForSelector('main:not([aria-busy]) h1');
      await session.send('Input.synthesizeTapGesture', await middleOf('.plot'));
      expect(await page.locator('.readout').textContent()).to.match(/^\d{4}-\d\d-\d\d · .+ [\d.]+$/);
      expect(await page.locator('.values').isVisible()).to.equal(true);
      await page.goto(`${origin}/explore?visit=${visits++}#/markets`);
      await page.waitForSelector('main:not([aria-busy]) h1');
      const houston = await middleOf('.map [data-cbsa="26420"]');
      await session.send('Input.synthesizeTapGesture', houston);
      expect(await page.locator('.place .readout').textContent()).to.match(/^Houston/);
      expect(await addressOf(page)).to.match(/#\/markets$/);
      await session.send('Input.synthesizeTapGesture', houston);
      await page.getByRole('heading', { level: 1, name: /^Houston/ }).waitFor();
    } finally {
      await session.send('Emulation.clearDeviceMetricsOverride');
      await session.send('Emulation.setTouchEmulationEnabled', { enabled: false });
      await session.detach();
    }
  });

  it('keep the header low on a phone', async () => {
    const { page } = browser;
    await page.setViewportSize({ width: 390, height: 844 });
    await open('/explore#/status');
    const { height } = (await page.locator('header').boundingBox())!;
    expect(height).to.be.below(125);
    await page.setViewportSize({ width: 1280, height: 900 });
  });
});

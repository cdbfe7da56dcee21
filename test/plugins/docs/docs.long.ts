import { type ChildProcess, execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { accessibilityProblems, addressOf, BROWSED, openBrowser, type TestBrowser } from '../../support/browser.js';
import { HOUSTON } from '../../support/fixture.js';
import { request } from '../../support/http-client.js';
import { findPythonPackage } from '../../support/python-package.js';
import { skip } from '../../support/skip.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const run = promisify(execFile);
const DATA = ['markets', 'forecasts', 'observations', 'signals', 'status'];

const LANGUAGES = { curl: 'curl', python: 'Python', r: 'R', typescript: 'TypeScript' } as const;

interface Described {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string }[];
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
}

const LAYOUT_PROBLEMS = `(() => {
  const found = [];
  const name = (element) => element.tagName + '.' + element.className + ' ' + element.textContent.slice(0, 40);
  if (document.documentElement.scrollWidth > innerWidth) found.push('wider than its window');
  for (const element of document.querySelectorAll('main *, #contents *, .top *')) {
    if (element.closest('pre, .hidden-text, .scroll, .languages input, option, select')) continue;
    const { overflowX, display } = getComputedStyle(element);
    const cut = display !== 'inline' && overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1;
    if (cut && element.clientWidth > 0 && !element.matches('input')) found.push('clipped: ' + name(element));
    const { left, right, width } = element.getBoundingClientRect();
    if (width > 1 && (right > innerWidth + 1 || left < 0)) found.push('outside: ' + name(element));
  }
  const parents = '.columns, .part, .text, .entries, .entry, .title, .head, .chips, .fields, .top, .group ul';
  for (const parent of document.querySelectorAll(parents)) {
    const boxes = [...parent.children]
      .filter((child) => child.getClientRects().length > 0 && getComputedStyle(child).position !== 'absolute')
      .map((child) => ({ child, box: child.getBoundingClientRect() }));
    for (const [index, { child, box }] of boxes.entries()) {
      const next = boxes[index + 1]?.box;
      if (!next || getComputedStyle(child).display === 'inline') continue;
      const over =
        Math.min(box.right, next.right) - Math.max(box.left, next.left) > 1 &&
        Math.min(box.bottom, next.bottom) - Math.max(box.top, next.top) > 1;
      if (over) found.push('overlaps what follows: ' + name(child));
    }
  }
  return found;
})()`;

const LAYOUT_SHIFT = `new Promise((resolve) => {
  let total = 0;
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) total += value;
  }).observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve(total), 300);
})`;

describe('the reference page', () => {
  let app: TestApp;
  let browser: TestBrowser;
  let document_: {
    readonly paths: Readonly<Record<string, { readonly get: Described }>>;
    readonly components: {
      readonly headers: object;
      readonly responses: Readonly<
        Record<string, { readonly content: { readonly 'application/json': { readonly examples: object } } }>
      >;
    };
  };
  let operations: Described[];
  let loads = 0;

  /** If only the fragment changes, Chromium does not reload the page. */
  const open = async (hash = '', query = '') => {
    const { page } = browser;
    await page.goto(`${app.origin}/docs?load=${loads++}${query}${hash}`);
    await page.waitForSelector('main h1');
  };
  const width = (pixels: number) => browser.page.setViewportSize({ width: pixels, height: 900 });
  const useKey = () => browser.page.evaluate(`sessionStorage.setItem('metro-forecast-key', '${app.key}')`);
  const sectionOf = (operationId: string): Locator => browser.page.locator(`section[aria-labelledby="${operationId}"]`);
  const codesOf = ({ responses }: Described) =>
    Object.entries(responses).flatMap(([status, { $ref }]) =>
      Number(status) < 400
        ? []
        : Object.keys(document_.components.responses[$ref!.split('/').at(-1)!]!.content['application/json'].examples),
    );

  before(async function () {
    this.timeout(60_000);
    app = await startTestApp({ config: { plugins: [...DATA, 'docs', 'explore'], server: BROWSED } });
    document_ = (await app.get('/openapi.json')).json;
    operations = Object.values(document_.paths).map(({ get }) => get);
    browser = await openBrowser(this, { origin: app.origin, width: 1440 });
  });
  beforeEach(() => {
    browser.complaints.length = 0;
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  it('links to the other pages and, separately, to its guides', async () => {
    const { text } = await request(`${app.origin}/docs`);
    expect(text).to.contain('<a href="/explore" data-shows-data>Explorer</a>');
    const [, guides = ''] = /<div id="guides".*?<ul>(.*?)<\/ul>/s.exec(text) ?? [];
    expect([...guides.matchAll(/href="([^"]+)"/g)].map(([, path]) => path)).to.have.members(
      ['calling', 'vintages', 'csv', 'methodology', 'spreadsheets'].map((name) => `/docs/${name}`),
    );
    const explorer = (await request(`${app.origin}/explore`)).text;
    expect(explorer).to.contain('href="/docs"').and.not.contain('href="/docs/csv"');
  });

  it('is at most 150 kB compressed, including the OpenAPI document', async () => {
    const { text } = await request(`${app.origin}/docs`);
    const files = [...text.matchAll(/(?:href|src)="(\/docs\/v-[^"]+)"/g)].map(([, file]) => `${app.origin}${file}`);
    let weight = brotliCompressSync(text).length;
    for (const file of [...files, `${app.url}/openapi.json`]) {
      weight += (await request(file, { headers: { 'Accept-Encoding': 'gzip' } })).bytes.length;
    }
    expect(weight).to.be.within(10_000, 150_000);
  });

  it('lists every endpoint, parameter, field, error and header exactly once', async () => {
    await open();
    const places = await browser.page.evaluate<string[]>('[...document.querySelectorAll("[id]")].map(({ id }) => id)');
    expect(places).to.have.length(new Set(places).size);
    const expected = operations.flatMap(({ operationId, parameters = [] }) => [
      `/${operationId}`,
      ...parameters.map(({ name }) => `/${operationId}/parameters/${name}`),
    ]);
    const codes = new Set(operations.flatMap(codesOf));
    expect(codes.size).to.be.above(10);
    expected.push(...[...codes].map((code) => `/errors/${code}`));
    expected.push(...Object.keys(document_.components.headers).map((name) => `/headers/${name}`));
    expected.push('/listMarkets/fields/data/cbsa', '/getStatus/fields/components', '/errors/fields/details/issue');
    expect(places).to.include.members(expected);
    const broken = await browser.page.evaluate(
      `[...document.querySelectorAll('a[href^="#"]')]
        .map((link) => decodeURIComponent(link.getAttribute('href').slice(1)))
        .filter((place) => document.getElementById(place) === null)`,
    );
    expect(broken).to.deep.equal([]);
    expect(browser.complaints).to.deep.equal([]);
  });

  it('explains each error once, with links from the endpoints that have it', async () => {
    const texts = await browser.page.locator('main').innerText();
    const limited = 'The limit on requests per minute was reached.';
    expect(texts.split(limited)).to.have.length(2);
    const linked = await sectionOf('getMarket').locator('a[href^="#/errors/"]').allTextContents();
    const common = operations.map(codesOf).reduce((all, some) => all.filter((code) => some.includes(code)));
    const own = codesOf(operations.find(({ operationId }) => operationId === 'getMarket')!);
    expect(linked.map((text) => text.split(' ')[1])).to.have.members(own.filter((code) => !common.includes(code)));
  });

  for (const hash of ['#/getMarket', '#getMarket', '#/listSignals/fields/data/lower_80', '#/errors/rate_limited']) {
    it(`/docs${hash} scrolls to that entry below the header, and marks it in the contents`, async () => {
      await open(hash);
      const { page } = browser;
      const place = page.locator(`[id="${hash.slice(1)}"]`);
      await place.waitFor();
      const top = (await place.boundingBox())!.y;
      expect(top).to.be.within(60, 120);
      const part = hash.replace(/^#\/?([^/]+).*/, '#/$1');
      expect(await page.locator('#contents [aria-current]').getAttribute('href')).to.equal(part);
    });
  }

  it('shows contents, text and samples in three columns on a wide screen', async () => {
    await width(1440);
    await open('#/getMarket');
    const section = sectionOf('getMarket');
    const boxes = await Promise.all(
      [browser.page.locator('#contents'), section.locator('h3, h2').first(), section.locator('pre').first()].map(
        async (part) => (await part.boundingBox())!,
      ),
    );
    const [contents, text, sample] = boxes;
    expect(contents!.x + contents!.width, 'the contents are left of the text').to.be.at.most(text!.x);
    expect(text!.x + text!.width, 'the text is left of its samples').to.be.at.most(sample!.x);
  });

  it('marks the current part in the contents and keeps it in the address for a reload', async () => {
    await open();
    const { page } = browser;
    await sectionOf('listMovers').evaluate((section) => section.scrollIntoView());
    await page.waitForURL(/#\/listMovers$/);
    const mark = page.locator('#contents [aria-current]');
    expect(await mark.getAttribute('href')).to.equal('#/listMovers');
    const box = (await mark.boundingBox())!;
    expect(box.y).to.be.within(60, 860);
    await page.reload();
    await page.waitForSelector('main h1');
    expect((await sectionOf('listMovers').boundingBox())!.y).to.be.within(-200, 140);
  });

  it('finds endpoints, parameters, fields, errors, headers and sections, best match first', async () => {
    await open();
    const expected = [
      ['movers', '#/listMovers'],
      ['getmarket', '#/getMarket'],
      ['rate limited', '#/errors/rate_limited'],
      ['429', '#/errors/rate_limited'],
      ['retry-after', '#/headers/Retry-After'],
      ['as_of movers', '#/listMovers/parameters/as_of'],
      ['mae_pp', '#/getForecastBacktest/fields/data/mae_pp'],
      ['api key', '#/authentication'],
    ] as const;
    for (const [query, first] of expected) {
      await browser.page.locator('#search').fill(query);
      await browser.page.keyboard.press('Enter');
      // The search index is loaded when the search box first gets the focus.
      await browser.page.waitForURL((url) => url.hash !== '');
      expect(new URL(await addressOf(browser.page)).hash, query).to.equal(first);
    }
  });

  it('opens the search with /, supports arrow keys and Escape in it, and says when nothing matches', async () => {
    await open();
    const { page } = browser;
    const guides = page.waitForResponse(/csv\/guide\.md$/);
    await page.keyboard.press('/');
    await page.keyboard.type('cbsa');
    const box = page.locator('#search');
    const chosen = page.locator('#found [aria-selected=true]');
    expect(await chosen.getAttribute('id')).to.equal('found-0');
    await guides;
    await box.press('ArrowDown');
    expect(await box.getAttribute('aria-activedescendant')).to.equal('found-1');
    await box.fill('xyzzy');
    await page.locator('#found', { hasText: 'No results for “xyzzy”' }).waitFor();
    await page.keyboard.press('Escape');
    expect(await page.locator('#found').isVisible()).to.equal(false);
    await box.fill('formulas');
    await page.locator('#found', { hasText: 'Formulas' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('main #formulas').waitFor();
    expect(new URL(await addressOf(page)).pathname).to.equal('/docs/csv');
    // The search also finds the views of other pages, such as the explorer, by the text of their links.
    await open();
    await page.locator('#search').fill('parquet');
    await page.locator('#found', { hasText: 'Explorer: Data' }).waitFor();
    await page.locator('#found .found', { hasText: 'Explorer: Data' }).click();
    await page.waitForURL(/\/explore#\/data$/);
  });

  it('uses one language for all samples, and stores the choice in the URL and in the browser', async () => {
    await open('#/getMarket');
    const { page } = browser;
    const section = sectionOf('getMarket');
    const choice = section.getByRole('radio', { name: 'R', exact: true });
    const before = (await section.boundingBox())!.y;
    await choice.check({ force: true });
    expect((await section.boundingBox())!.y).to.be.closeTo(before, 2);
    for (const operationId of ['listMarkets', 'getOpenApi']) {
      expect(await sectionOf(operationId).locator('pre').first().innerText()).to.match(/^library\(httr2\)/);
    }
    expect(await addressOf(page)).to.contain('lang=r');
    await open();
    expect(await sectionOf('getMarket').locator('pre').first().innerText()).to.match(/^library\(httr2\)/);
    await open('', '&lang=curl');
    const first = page.locator('pre[aria-label="First request"]');
    expect(await first.innerText()).to.match(/^curl .*\/markets'$/);
    expect(await sectionOf('getMarket').locator('pre').first().innerText()).to.match(/^curl /);
  });

  it('asks for a missing key, sends the entered key, and shows the response', async () => {
    const { page } = browser;
    await page.evaluate('sessionStorage.clear()');
    await open();
    const section = sectionOf('getMarket');
    const send = section.getByRole('button', { name: 'Send' });
    await send.click();
    await section.getByText('This endpoint needs a key').waitFor();
    await page.getByLabel('API key').fill(app.key);
    await page.getByRole('button', { name: 'Use this key' }).click();
    await send.click();
    const panel = section.getByRole('group', { name: 'Response to your request' });
    await panel.getByText('200 OK').waitFor();
    const response = await app.get(`/markets/${HOUSTON}`);
    expect(JSON.parse(await panel.locator('pre').innerText())).to.deep.equal(response.json);
    expect(await panel.innerText()).to.match(/\d+ ms · \d+ B/);
    await panel.locator('summary').click();
    const headers = await panel.locator('dl').innerText();
    expect(headers).to.contain(response.headers.etag).and.contain('Snapshot-Version').and.contain('fixture-1');
    expect(await addressOf(page)).not.to.contain(app.key);
    expect(await section.innerText()).not.to.contain(app.key);
    expect(browser.complaints).to.deep.equal([]);
  });

  it('links an error response to its explanation', async () => {
    await useKey();
    await open();
    const section = sectionOf('getMarket');
    await section.locator('.foot summary').click();
    await section.locator('#getMarket-cbsa').fill('99999');
    expect(await section.locator('pre').first().innerText()).to.contain('/markets/99999');
    await section.getByRole('button', { name: 'Send' }).click();
    await section.getByText('404 Not Found').waitFor();
    await section.locator('.advice a').click();
    expect(new URL(await addressOf(browser.page)).hash).to.equal('#/errors/market_not_found');
  });

  it('shows the response as CSV if the reader chooses it', async () => {
    await useKey();
    await open();
    const section = sectionOf('listMarkets');
    await section.locator('.foot summary').click();
    await section.locator('#listMarkets-format').selectOption('csv');
    await section.getByRole('button', { name: 'Send' }).click();
    const body = section.getByRole('group', { name: 'Response to your request' }).locator('pre');
    await body.filter({ hasText: 'cbsa' }).waitFor();
    expect(await body.textContent()).to.equal((await app.get('/markets?format=csv')).text);
  });

  describe('its samples', () => {
    let folder: string;
    const calls = [
      { operationId: 'getMarket', values: {}, target: `/markets/${HOUSTON}` },
      {
        operationId: 'listMarkets',
        values: { state: 'TX,GA', format: 'csv' },
        target: '/markets?state=TX,GA&format=csv',
      },
      { operationId: 'getHealth', values: {}, target: '/health' },
    ] as const;
    const samples: Record<string, Record<string, string>> = {};

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'reference-samples-'));
      for (const language of Object.keys(LANGUAGES)) {
        await open('', `&lang=${language}`);
        samples[language] = {};
        for (const { operationId, values } of calls) {
          const section = sectionOf(operationId);
          if (Object.keys(values).length > 0) await section.locator('.foot summary').click();
          for (const [name, value] of Object.entries(values)) {
            const control = section.locator(`[id="${operationId}-${name}"]`);
            await (name === 'format' ? control.selectOption(value) : control.fill(value));
          }
          samples[language][operationId] = await section.locator('pre').first().innerText();
        }
      }
    });
    after(() => rm(folder, { recursive: true, force: true }));

    const printed = async (
      language: keyof typeof LANGUAGES,
      start: (
        code: string,
        file: string,
        env: NodeJS.ProcessEnv,
      ) => Promise<{ stdout: string }> & { child?: ChildProcess },
    ) => {
      const env = { ...process.env, API_KEY: app.key };
      return Promise.all(
        calls.map(async ({ operationId, target }) => {
          const code = samples[language]![operationId]!;
          expect(code).not.to.contain(app.key);
          const { stdout } = await start(code, join(folder, `${operationId}-${language}`), env);
          return { stdout, response: await app.get(target) };
        }),
      );
    };

    it('run in a shell with curl, and print the response', async function () {
      await run('curl', ['--version']).catch(() => skip(this, 'there is no curl'));
      for (const { stdout, response } of await printed('curl', (code, _file, env) =>
        run('sh', ['-c', code], { env }),
      )) {
        expect(stdout).to.equal(response.text);
      }
    });

    it('run in Python with requests, and print the response', async function () {
      this.timeout(120_000);
      const found = await findPythonPackage('requests').catch((error: Error) =>
        skip(this, `there is no requests for python3: ${error.message.split('\n')[0]}`),
      );
      const show = 'import ast, json, sys; print(json.dumps(ast.literal_eval(sys.stdin.read())))';
      for (const { stdout, response } of await printed('python', (code, _file, env) =>
        run('python3', ['-c', code], { env: { ...found, ...env } }),
      )) {
        if (response.headers['content-type']?.startsWith('text/csv')) {
          expect(stdout).to.equal(`${response.text}\n`);
        } else {
          const json = execFileSync('python3', ['-c', show], { input: stdout, encoding: 'utf8' });
          expect(JSON.parse(json)).to.deep.equal(response.json);
        }
      }
    });

    it('run as TypeScript, and print the response', async () => {
      for (const { stdout, response } of await printed('typescript', async (code, file, env) => {
        // The samples have no type annotations, so they run without a compiler.
        await writeFile(
          `${file}.mjs`,
          code.replace(/console\.log\((await response\.json\(\))\)/, 'console.log(JSON.stringify($1))'),
        );
        return run(process.execPath, [`${file}.mjs`], { env });
      })) {
        if (response.headers['content-type']?.startsWith('text/csv')) expect(stdout).to.equal(`${response.text}\n`);
        else expect(JSON.parse(stdout)).to.deep.equal(response.json);
      }
    });

    it('run in R with httr2, and print the response', async function () {
      this.timeout(120_000);
      await run('Rscript', ['-e', 'library(httr2)']).catch(() => skip(this, 'there is no R with httr2'));
      for (const { stdout, response } of await printed('r', async (code, file, env) => {
        await writeFile(`${file}.R`, code);
        return run('Rscript', [`${file}.R`], { env });
      })) {
        const [, value] = /name"?[ :$]*"?([^",\n]+)/.exec(response.text) ?? [];
        expect(stdout).to.contain(value ?? 'ok');
      }
    });
  });

  it('lists the changes of the API with their endpoints', async () => {
    await open('#/changes');
    const rows = browser.page.locator('[id="/changes"] tbody tr');
    expect(await rows.count()).to.be.above(3);
    const links = rows.filter({ hasText: 'Every metropolitan area' }).locator('a');
    expect(await links.allTextContents()).to.deep.equal(['/areas', '/areas/{cbsa}']);
  });

  it('opens its contents as a drawer on a phone, by keyboard and touch', async () => {
    await width(390);
    await open();
    const { page } = browser;
    const button = page.getByRole('button', { name: 'Contents' });
    const nav = page.locator('#contents');
    expect(await nav.isVisible()).to.equal(false);
    await button.press('Enter');
    await nav.waitFor();
    await page.keyboard.press('Escape');
    expect(await nav.isVisible()).to.equal(false);
    expect(await page.evaluate('document.activeElement.id')).to.equal('open-contents');
    await button.click();
    await nav.getByRole('link', { name: '/movers' }).click();
    expect(await nav.isVisible()).to.equal(false);
    expect((await sectionOf('listMovers').boundingBox())!.y).to.be.within(90, 150);
  });

  it('prints all details, in dark colours, without the forms', async () => {
    const { page } = browser;
    await open();
    await page.evaluate('dispatchEvent(new Event("beforeprint"))');
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('main .text details:not([open])').count()).to.equal(0);
    for (const hidden of ['.top', '#side', '.foot']) {
      expect(await page.locator(hidden).first().isVisible(), hidden).to.equal(false);
    }
    expect(await page.evaluate('getComputedStyle(document.querySelector(".panel pre")).color')).to.equal(
      'rgb(0, 0, 0)',
    );
    expect(await page.locator('.on-paper').innerText()).to.equal(`Metro Forecast API · ${page.url()}`);
    await page.emulateMedia({ media: null });
  });

  for (const [pixels, colorScheme, forcedColors] of [
    [1440, 'light', 'none'],
    [768, 'light', 'active'],
    [390, 'dark', 'none'],
  ] as const) {
    describe(`at ${pixels} pixels, ${colorScheme}${forcedColors === 'active' ? ' with forced colours' : ''}`, () => {
      before(async () => {
        await browser.page.emulateMedia({ colorScheme, forcedColors });
        await width(pixels);
        await open();
        await browser.page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
      });
      after(() => browser.page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' }));

      it('has no accessibility problem with all details open', async function () {
        this.timeout(60_000);
        expect(await accessibilityProblems(browser.page)).to.deep.equal([]);
      });

      it('is no wider than its window, clips no text and has no overlapping elements', async () => {
        const problems = await browser.page.evaluate<string[]>(LAYOUT_PROBLEMS);
        expect(problems).to.deep.equal([]);
      });

      it('does not move while it loads', async () => {
        await browser.page.reload();
        const shift = await browser.page.evaluate<number>(LAYOUT_SHIFT);
        expect(shift).to.be.at.most(0.01);
      });
    });
  }
});

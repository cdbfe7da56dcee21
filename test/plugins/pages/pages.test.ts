/**
 * Tests the pages: their files over HTTP, their type check, and each view once in Chromium. The `*.long.ts` files test
 * the views in more detail.
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
import { startTestApp, type TestApp } from '../../support/test-app.js';
import { describePageFiles } from './page-files.js';

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
      ...['shared', 'data-views', 'guides'].map((name) => `plugins/pages/${name}`),
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
    [`explore#/compare?m=${ATLANTA},${HOUSTON}`, 'rose most'],
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

  it('have no accessibility problem on the first screen', async function () {
    this.timeout(60_000);
    await browser.page.goto(`${app.origin}/explore`);
    await browser.page.getByRole('heading', { level: 1, name: 'metros' }).waitFor();
    expect(await accessibilityProblems(browser.page)).to.deep.equal([]);
  });
});

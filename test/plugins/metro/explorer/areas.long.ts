import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../../../core/util/package.js';
import { accessibilityProblems, BROWSED, openBrowser, type TestBrowser } from '../../../support/browser.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

describe('the nation and the states in the explorer', () => {
  let app: TestApp;
  let browser: TestBrowser;
  let views = 0;
  const view = async (name: string) => {
    await browser.page.goto(`${app.origin}/explore?view=${views++}#/${name}`);
    await browser.page.waitForSelector('main:not([aria-busy]) h1');
    await browser.page.waitForLoadState('networkidle');
  };
  const legend = () => browser.page.locator('.legend').first().innerText();

  before(async function () {
    this.timeout(60_000);
    app = await startTestApp({
      config: {
        adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } },
        plugins: ['markets', 'forecasts', 'observations', 'signals', 'vintages', 'status', 'docs', 'explore'],
        server: BROWSED,
      },
    });
    browser = await openBrowser(this, { origin: app.origin });
    await view('status');
    await browser.page.evaluate(`sessionStorage.setItem('metro-forecast-key', '${app.key}')`);
  });
  after(async () => {
    await browser?.close();
    await app?.close();
  });

  it('are lines of a comparison: the nation in the example, and a state by its name', async () => {
    await view('compare');
    expect(await legend())
      .to.include('House Price Index for the United States (synthetic sample) (USSTHPI)')
      .and.include('Recession (NBER)');
    await browser.page.getByLabel('Add a market or a series').fill('texas');
    await browser.page.getByRole('button', { name: 'Add', exact: true }).click();
    await browser.page.locator('.chips li', { hasText: 'House Price Index for Texas' }).waitFor();
    await view('compare?m=26420&s=USSTHPI,TXSTHPI&show=change');
    expect(await legend()).to.include('House Price Index for Texas');
    expect(await browser.page.locator('.plot').first().innerText())
      .to.include('Texas')
      .and.include('United States');
    await browser.page.getByText('Difference from the nation').click();
    await browser.page.getByText('Percentage points above or below: Nation (USSTHPI)').first().waitFor();
    expect(await accessibilityProblems(browser.page)).to.deep.equal([]);
  });

  it('each have a view with the index of their series and the forecast', async () => {
    for (const show of ['level', 'change', 'real']) {
      await view(`markets/00048?show=${show}`);
      expect(await browser.page.locator('.plot').count()).to.be.at.least(1);
      expect(await browser.page.locator('main').innerText())
        .to.include('Texas')
        .and.not.include('CBSA 00048');
    }
    expect(browser.complaints).to.deep.equal([]);
  });
});

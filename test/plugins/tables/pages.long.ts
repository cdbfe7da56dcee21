/** Tests the pages of tables in Chromium. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { accessibilityProblems, addressOf, holdFirst, openBrowser, type TestBrowser } from '../../support/browser.js';
import { request } from '../../support/http-client.js';
import { startTableService } from '../../support/table-service.js';
import { LABEL_PROBLEMS } from '../pages/page-files.js';

describe('the pages of tables in Chromium', () => {
  let service: Awaited<ReturnType<typeof startTableService>>;
  let browser: TestBrowser;
  let views = 0;
  const view = async (name: string) => {
    await browser.page.goto(`${service.origin}/tables?view=${views++}#/${name}`);
    await browser.page.waitForSelector('main:not([aria-busy]) h1');
  };
  const cells = (column: number) => browser.page.locator(`.rows tbody tr > :nth-child(${column})`).allInnerTexts();
  const until = async (condition: () => Promise<boolean>) => {
    while (!(await condition())) await browser.page.waitForTimeout(20);
  };

  before(async function () {
    this.timeout(60_000);
    service = await startTableService();
    browser = await openBrowser(this, { origin: service.origin });
    await browser.page.goto(`${service.origin}/tables`);
  });
  after(async () => {
    await browser?.close();
    await service?.close();
  });

  it('asks for the key once, and shows the first table', async () => {
    const { page } = browser;
    await page.getByLabel('API key').fill(service.key);
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByRole('heading', { level: 1, name: 'Books' }).waitFor();
    expect(await page.locator('nav a').allInnerTexts()).to.deep.equal(['Books', 'Weather', 'Status']);
    expect(await page.title()).to.equal('Books – Library catalogue');
    expect(await addressOf(page)).not.to.contain(service.key);
  });

  it('searches, sorts and filters, and keeps the choices in the URL', async () => {
    const { page } = browser;
    await view('books');
    await page.getByRole('button', { name: 'Title' }).click();
    expect(await cells(2)).to.deep.equal(['A Tale of Two Cities', 'Emma', 'Jane Eyre', 'Pride and Prejudice']);
    await page.getByLabel('Published to').fill('1850');
    await page.keyboard.press('Enter');
    await until(async () => (await cells(2)).length === 3);
    await page.keyboard.press('Escape');
    await page.locator('h1').click();
    await page.keyboard.press('/');
    await page.keyboard.type('jane');
    await page.getByText('3 rows with “jane”').waitFor();
    await page.keyboard.type(' eyre');
    await page.getByText('1 row with “jane eyre”').waitFor();
    const address = await addressOf(page);
    expect(address).to.match(/#\/books\?sort=title&published%5Blte%5D=1850&q=jane\+eyre$/);
    await page.locator('.rows tbody a').click();
    await page.getByRole('heading', { level: 1, name: 'Books: 9780141441146' }).waitFor();
    expect(await page.locator('.record dd').allInnerTexts()).to.deep.equal([
      ...['9780141441146', 'Jane Eyre', 'Charlotte Brontë', '1847', '–'],
    ]);
    await page.goBack();
    await page.getByText('1 row with “jane eyre”').waitFor();
    expect(await addressOf(page)).to.equal(address);
    await page.reload();
    await page.getByText('1 row with “jane eyre”').waitFor();
    expect(await page.getByLabel('Published to').inputValue()).to.equal('1850');
    // The displayed API call must equal the request.
    await page.getByText('API call').first().click();
    const call = await page.locator('pre').first().innerText();
    expect(call)
      .to.contain('/books?published%5Blte%5D=1850&q=jane+eyre*')
      .and.contain('$API_KEY')
      .and.not.contain(service.key);
  });

  it('shows totals next to the list, filters by a value, and keeps the choices in the URL', async () => {
    const { page } = browser;
    await view('weather');
    const totals = page.getByRole('region', { name: 'Totals' });
    const values = () => totals.locator('tbody tr').allInnerTexts();
    await until(async () => (await values()).length === 3);
    expect(await values()).to.deep.equal(['Bergen\t2,000', 'Tromsø\t2,000', 'Oslo\t1,999']);
    await totals.getByLabel('Show').selectOption('Mean of degrees');
    await until(async () => (await values())[0] === 'Bergen\t19.50');
    expect(await addressOf(page)).to.match(/#\/weather\?show=mean%3Adegrees$/);
    await page.reload();
    await until(async () => (await values())[0] === 'Bergen\t19.50');
    await totals.getByRole('button', { name: 'Oslo' }).click();
    await page.getByText('1,999 rows').first().waitFor();
    expect(await page.getByLabel('Station', { exact: true }).inputValue()).to.equal('Oslo');
    expect(await addressOf(page)).to.contain('station%5Beq%5D=Oslo');
    await until(async () => (await values()).length === 1);
  });

  it("sorts through the API if not all rows are loaded, and shows the API's message about filters", async () => {
    const { page } = browser;
    await view('weather');
    await page.getByText('5,999 rows, of which the first 5,000 are loaded. Filter to see others.').waitFor();
    expect(await page.locator('.rows th button').allInnerTexts()).to.deep.equal(['Station']);
    await page.getByRole('button', { name: 'Station' }).click();
    await page.getByRole('button', { name: 'Station' }).click();
    await until(async () => (await cells(1))[0] === 'Tromsø');
    await page.getByLabel('Station', { exact: true }).fill('Oslo');
    await page.keyboard.press('Enter');
    await page.getByText('1,999 rows').first().waitFor();
    expect(await page.locator('.rows th button').count()).to.equal(3);
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV: weather' }).click();
    const csv = await readFile(await (await waiting).path(), 'utf8');
    const { text } = await request(`${service.url}/weather?station=Oslo&sort=-station&format=csv`, {
      headers: { Authorization: `Bearer ${service.key}` },
    });
    expect(csv).to.equal(text);
    await page.route('**/weather?*', (route) =>
      route.fulfill({ status: 400, json: { error: 'a message of the service', code: 'invalid_parameter' } }),
    );
    await page.getByLabel('Day from').fill('2021-01-01');
    await page.locator('h1').click();
    await page.getByRole('alert').filter({ hasText: 'a message of the service' }).waitFor();
    await page.unroute('**/weather?*');
  });

  it('shows the rows of the last choice, even if an earlier response arrives later', async () => {
    const { page } = browser;
    await view('weather');
    const first = await holdFirst(page, '**/weather?sort=*');
    await page.getByRole('button', { name: 'Station' }).click();
    await first.requested;
    await page.getByLabel('Station', { exact: true }).fill('Oslo');
    await page.keyboard.press('Enter');
    await page.getByText('1,999 rows').first().waitFor();
    await first.release();
    expect(await page.locator('.count').innerText()).to.equal('1,999 rows');
    expect(await page.locator('.rows th button').count()).to.equal(3);
  });

  it('draws lines and bars, shows values by arrow keys, and keeps the choices in the URL', async () => {
    const { page } = browser;
    await view('weather?station%5Beq%5D=Oslo');
    await page.locator('.plot').press('Home');
    expect(await page.locator('.readout').textContent()).to.equal('2020-01-01 · Oslo -10');
    for (const _ of [1, 2, 3]) await page.locator('.plot').press('ArrowRight');
    expect(await page.locator('.readout').textContent()).to.equal('2020-01-04 · no value');
    await page.getByText('Bars', { exact: true }).click();
    await page.getByLabel('Values', { exact: true }).selectOption('Number of rows');
    expect(await addressOf(page)).to.match(/station%5Beq%5D=Oslo&form=bars&value=rows$/);
    await page.locator('.plot').press('End');
    expect(await page.locator('.readout').textContent()).to.equal('2025 · Number of rows 173');
    expect(await page.locator('.plot .bar').count()).to.equal(6);
    await page.getByText('Data as a table').click();
    expect(await page.locator('figure tbody tr').first().innerText()).to.equal('2025\t173');
    const bars = (
      await page.locator('.plot .bar').evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect()))
    ).map(({ left, right }) => [left, right]);
    const { x, width } = (await page.locator('.plot').boundingBox())!;
    for (const [left, right] of bars) expect([left! >= x, right! <= x + width]).to.deep.equal([true, true]);
  });

  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 768],
    ['dark', 390],
  ] as const) {
    it(`has no accessibility problem, error, overflow or cut label, ${colorScheme} at ${width} pixels`, async function () {
      this.timeout(60_000);
      const { page, complaints } = browser;
      complaints.length = 0;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      for (const name of [
        'books',
        'books?q=nothing',
        'weather',
        'weather?form=bars',
        'books/9780141439587',
        'status',
      ]) {
        await view(name);
        await page.evaluate('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
        expect(await accessibilityProblems(page), name).to.deep.equal([]);
        expect(await page.evaluate(LABEL_PROBLEMS), name).to.deep.equal([]);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), name).to.be.at.most(0);
      }
      expect(complaints).to.deep.equal([]);
    });
  }

  it('prints the table and the chart without controls', async () => {
    const { page } = browser;
    await page.setViewportSize({ width: 1280, height: 900 });
    await view('books');
    await page.emulateMedia({ colorScheme: 'light', media: 'print' });
    const pressed = await page.evaluate(
      '[...document.querySelectorAll("main :is(button:not(th button), input, select, summary)")].filter((each) => each.checkVisibility()).length',
    );
    const heads = await page.locator('.rows thead th').allInnerTexts();
    const sheets = (await page.pdf({ format: 'A4' })).toString('latin1').match(/\/Type \/Page\b/g);
    await page.emulateMedia({ media: 'screen' });
    expect(heads).to.deep.equal(['Isbn', 'Title', 'Author', 'Published', 'Pages']);
    expect(pressed).to.equal(0);
    expect(sheets).to.have.length(1);
  });
});

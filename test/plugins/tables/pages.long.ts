import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { accessibilityProblems, addressOf, holdFirst, openBrowser, type TestBrowser } from '../../support/browser.js';
import { request } from '../../support/http-client.js';
import { LABEL_PROBLEMS, LAYOUT_PROBLEMS } from '../../support/page-files.js';
import { startTableService } from '../../support/table-service.js';

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

  const countIs = (text: string) =>
    browser.page
      .locator('.count')
      .filter({ hasText: new RegExp(`^${text}$`) })
      .waitFor();
  const rangeText = (from: number) => `${from.toLocaleString('en-US')}–${(from + 99).toLocaleString('en-US')}`;

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

  it('starts with the number of rows, the newest date and the columns, and has the downloads above the rows', async () => {
    const { page } = browser;
    await view('weather');
    expect(await page.locator('h1').innerText()).to.equal('Weather has 5,999 rows up to 22 June 2025');
    expect(await page.locator('.question').innerText()).to.equal('One row for each station and day, with degrees.');
    const top = async (selector: string) => (await page.locator(selector).first().boundingBox())!.y;
    expect(await top('.tools')).to.be.below(await top('.rows'));
    await view('books');
    expect(await page.locator('h1').innerText()).to.equal(
      'Books has 4 rows up to 1859; the most common author is Jane Austen (2 rows)',
    );
  });

  it('counts the rows once, for the title and for the text above the rows', async () => {
    const { page } = browser;
    const counts: string[] = [];
    page.on('request', (call) => call.url().endsWith('/totals/weather?') && counts.push(call.url()));
    await view('weather');
    await countIs('1–100 of 5,999 rows');
    expect(counts).to.have.length(1);
  });

  it('explains why a tab cannot be loaded, and reads the sample of a table only once', async () => {
    const { page } = browser;
    await view('weather');
    const samples: string[] = [];
    page.on('request', (call) => call.url().endsWith('/weather?limit=100') && samples.push(call.url()));
    await page.route('**/time-chart.js', (route) => route.fulfill({ status: 429, body: '' }));
    await page.getByText('Over time', { exact: true }).click();
    await page.getByText('This view cannot be loaded').waitFor();
    await page.unroute('**/time-chart.js');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.plot svg').waitFor();
    await page.getByRole('link', { name: 'Status' }).click();
    await page.getByRole('heading', { level: 1, name: 'The service is' }).waitFor();
    samples.splice(0);
    await page.getByRole('link', { name: 'Weather' }).click();
    await page.locator('.rows tbody tr').first().waitFor();
    expect(samples, 'the list reads its own page').to.have.length(1);
    browser.complaints.splice(0);
  });

  it('searches, sorts and filters through the API, and keeps the choices in the URL', async () => {
    const { page } = browser;
    await view('books');
    await page.getByRole('button', { name: 'Title', exact: true }).click();
    await until(async () => (await cells(2))[0] === 'A Tale of Two Cities');
    expect(await cells(2)).to.deep.equal(['A Tale of Two Cities', 'Emma', 'Jane Eyre', 'Pride and Prejudice']);
    await page.getByText('Published', { exact: true }).first().click();
    await page.getByLabel('Published to', { exact: true }).fill('1850');
    await page.keyboard.press('Enter');
    await countIs('3 matching rows');
    await page.locator('h1').click();
    await page.keyboard.press('/');
    await page.keyboard.type('jane');
    await page.getByRole('button', { name: 'Remove: “jane”' }).waitFor();
    await page.keyboard.type(' eyre');
    await until(async () => (await addressOf(page)).endsWith('eyre'));
    await countIs('1 matching row');
    await page.getByRole('heading', { level: 1, name: '1 of 4 rows in Books matches' }).waitFor();
    expect(await page.locator('.rows mark').allInnerTexts()).to.deep.equal(['Jane', 'Eyre']);
    const sentence = page.locator('.question');
    expect(await sentence.innerText()).to.match(/^1 row matches: (?=.*“jane eyre”)(?=.*Published to 1850).* and .*\.$/);
    const address = await addressOf(page);
    // The browser reports the opened facet asynchronously, so the order of the parameters can differ.
    expect(address).to.contain('#/books?');
    expect(Object.fromEntries(new URLSearchParams(address.split('?').at(-1)))).to.deep.equal({
      sort: 'title',
      facets: 'author,published',
      'published[lte]': '1850',
      q: 'jane eyre',
    });
    await page.locator('.rows tbody a').click();
    await page.getByRole('heading', { level: 1, name: 'Jane Eyre' }).waitFor();
    expect(await page.locator('.record dd').allInnerTexts()).to.deep.equal([
      ...['9780141441146', 'Jane Eyre', 'Charlotte Brontë', '1847', '–'],
    ]);
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV: as shown' }).click();
    const download = await waiting;
    expect(download.suggestedFilename()).to.equal('books-9780141441146.csv');
    expect(await readFile(await download.path(), 'utf8')).to.equal(
      'isbn,title,author,published,pages\r\n9780141441146,Jane Eyre,Charlotte Brontë,1847,\r\n',
    );
    await page.goBack();
    await countIs('1 matching row');
    expect(await addressOf(page)).to.equal(address);
    await page.reload();
    await countIs('1 matching row');
    expect(await page.locator('h1').innerText()).to.equal('1 of 4 rows in Books matches');
    expect(await page.getByLabel('Published to', { exact: true }).inputValue()).to.equal('1850');
    await page.getByText('API call').first().click();
    const call = await page.locator('pre').first().innerText();
    expect(call)
      .to.contain('/books?published%5Blte%5D=1850&q=jane+eyre*&sort=title')
      .and.contain('$API_KEY')
      .and.not.contain(service.key);
    await page.getByRole('button', { name: 'Clear all' }).click();
    await countIs('4 rows');
    expect(await page.locator('h1').innerText()).to.equal(
      'Books has 4 rows up to 1859; the most common author is Jane Austen (2 rows)',
    );
    expect(await page.locator('#search').inputValue()).to.equal('');
  });

  it('turns pages until the last row, and returns to a page after a reload and in a shared link', async () => {
    const { page } = browser;
    await view('weather');
    await countIs('1–100 of 5,999 rows');
    expect(await page.locator('.rows tbody tr').count()).to.equal(100);
    await page.getByRole('button', { name: 'Next' }).click();
    await countIs('101–200 of 5,999 rows');
    const [second] = await cells(2);
    await page.getByRole('button', { name: 'Next' }).click();
    await countIs('201–300 of 5,999 rows');
    const [third] = await cells(2);
    await page.reload();
    await countIs('201–300 of 5,999 rows');
    await page.getByRole('button', { name: 'Previous' }).click();
    await countIs('101–200 of 5,999 rows');
    expect((await cells(2))[0]).to.equal(second);
    await page.getByRole('button', { name: 'Oslo' }).click();
    await countIs('1–100 of 1,999 matching rows');
    expect(await page.getByRole('button', { name: 'Previous' }).isDisabled()).to.equal(true);
    await page.goto(`${service.origin}/tables?again#/weather`);
    await countIs('1–100 of 5,999 rows');
    await page.getByRole('button', { name: 'Next' }).click();
    await countIs('101–200 of 5,999 rows');
    await page.getByRole('button', { name: 'Next' }).click();
    await countIs('201–300 of 5,999 rows');
    await page.goto(`${await addressOf(page)}`.replace('again', 'shared'));
    await countIs('201–300 of 5,999 rows');
    expect((await cells(2))[0]).to.equal(third);
    // A shared link contains the position of one page, so the position of the previous page is unknown.
    expect(await page.getByRole('button', { name: 'Previous' }).isDisabled()).to.equal(true);
    await page.getByRole('button', { name: 'First page' }).click();
    await countIs('1–100 of 5,999 rows');
    expect(await addressOf(page)).to.match(/#\/weather$/);
    await view('weather?station%5Beq%5D=Oslo&sort=-day');
    for (let from = 1; from < 1900; from += 100) {
      await countIs(`${rangeText(from)} of 1,999 matching rows`);
      await page.getByRole('button', { name: 'Next' }).click();
    }
    await countIs('1,901–1,999 of 1,999 matching rows');
    expect((await cells(2)).at(-1)).to.equal('2020-01-01');
    expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).to.equal(true);
  });

  it('sorts by columns without a sort order, and explains why a larger table cannot be sorted by them', async () => {
    const { page } = browser;
    await view('weather');
    await page.getByRole('button', { name: 'Degrees', exact: true }).click();
    await until(async () => (await cells(3))[0] === '39');
    expect(await page.locator('th[aria-sort]').innerText()).to.equal('Degrees');
    await page.getByRole('button', { name: 'Next' }).click();
    await countIs('101–200 of 5,999 rows');
    const waiting = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV: weather' }).click();
    const csv = await readFile(await (await waiting).path(), 'utf8');
    const { text } = await request(`${service.url}/weather?sort=-degrees&format=csv`, {
      headers: { Authorization: `Bearer ${service.key}` },
    });
    expect(csv).to.equal(text);
    await page.route('**/weather?sort=*', (route) =>
      route.fulfill({ status: 400, json: { error: 'Too many rows.', code: 'too_many_rows' } }),
    );
    await page.getByRole('button', { name: 'Day', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: 'Too many rows.' }).waitFor();
    expect(await page.locator('th[aria-sort]').innerText()).to.equal('Degrees');
    expect(await addressOf(page))
      .to.contain('sort=-degrees')
      .and.contain('from=101');
    expect(await page.getByRole('button', { name: 'Previous' }).isEnabled()).to.equal(true);
    await view('weather?sort=day');
    await page.getByRole('alert').filter({ hasText: 'Too many rows.' }).waitFor();
    await page.getByRole('button', { name: 'Back to the first page' }).click();
    await countIs('1–100 of 5,999 rows');
    await page.unroute('**/weather?sort=*');
  });

  it("shows the API's message about filters, and what to do if no row matches", async () => {
    const { page } = browser;
    await view('weather?degrees%5Bgte%5D=warm');
    await page.getByRole('alert').filter({ hasText: '"degrees[gte]" must be an integer.' }).waitFor();
    expect(await page.getByText('must be an integer').count(), 'only the list explains the error').to.equal(1);
    expect(await page.getByRole('button', { name: 'Back to the first page' }).count()).to.equal(0);
    await page.getByRole('button', { name: 'Remove: Degrees from warm' }).click();
    await countIs('1–100 of 5,999 rows');
    await view('books?author%5Beq%5D=Nobody');
    await page.getByRole('heading', { name: 'No matching rows' }).waitFor();
    await page.getByRole('button', { name: 'Remove: Author is Nobody' }).click();
    await countIs('4 rows');
  });

  it('shows the values of a column with their counts, and filters by one or several of them', async () => {
    const { page } = browser;
    await view('weather');
    const filters = page.getByRole('region', { name: 'Filters' });
    const values = (column: string) => filters.locator('.facet', { hasText: column }).locator('li').allInnerTexts();
    await until(async () => (await values('Station')).length === 3);
    const all = ['Bergen\n2,000', 'Tromsø\n2,000', 'Oslo\n1,999'];
    expect(await values('Station')).to.deep.equal(all);
    await filters.getByRole('button', { name: 'Oslo' }).click();
    await countIs('1–100 of 1,999 matching rows');
    expect(await addressOf(page)).to.contain('station%5Beq%5D=Oslo');
    expect(await filters.getByRole('button', { name: 'Oslo' }).getAttribute('aria-pressed')).to.equal('true');
    expect(await values('Station')).to.deep.equal(all);
    await filters.getByRole('button', { name: 'Bergen' }).click();
    await countIs('1–100 of 3,999 matching rows');
    await page.getByRole('button', { name: 'Remove: Station is Oslo or Bergen' }).waitFor();
    await filters.getByText('Degrees', { exact: true }).click();
    await until(async () => (await values('Degrees')).length === 10);
    await filters.getByRole('button', { name: 'More values' }).click();
    await until(async () => (await values('Degrees')).length === 50);
    await page.reload();
    await until(async () => (await values('Degrees')).length === 10);
    await filters.getByRole('button', { name: 'Oslo' }).click();
    await countIs('1–100 of 2,000 matching rows');
    await view('books?facets=title,pages');
    await until(async () => (await values('Pages')).includes('no value\n1'));
    await filters.getByRole('button', { name: 'no value' }).click();
    await countIs('1 matching row');
    expect(await cells(2)).to.deep.equal(['Jane Eyre']);
  });

  it('shows the chosen columns in the chosen order, and keeps them in the URL', async () => {
    const { page } = browser;
    await view('books');
    const headings = () => page.locator('.rows thead th').allInnerTexts();
    await page.getByRole('button', { name: 'Columns' }).click();
    const dialog = page.getByRole('dialog', { name: 'Columns' });
    await dialog.getByLabel('Author', { exact: true }).uncheck();
    await dialog.getByLabel('Isbn', { exact: true }).uncheck();
    await dialog.getByRole('button', { name: 'Move Pages up' }).click();
    await until(async () => (await headings()).join() === 'Title,Pages,Published');
    expect(await addressOf(page)).to.match(/#\/books\?columns=title,pages,published$/);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.reload();
    await until(async () => (await headings()).join() === 'Title,Pages,Published');
    expect(await page.locator('.rows tbody a').first().getAttribute('href')).to.equal('#/books/9780141439518');
    await page.getByRole('button', { name: 'Columns: 3 of 5' }).click();
    await dialog.getByRole('button', { name: 'Reset' }).click();
    await until(async () => (await headings()).length === 5);
    expect(await addressOf(page)).to.match(/#\/books$/);
  });

  it('shows totals by one or two columns, filters by a value, and keeps the choices in the URL', async () => {
    const { page } = browser;
    await view('weather');
    await page.getByText('Totals', { exact: true }).click();
    const values = () => page.locator('.totals tbody tr').allInnerTexts();
    await until(async () => (await values()).length === 3);
    expect(await values()).to.deep.equal(['Bergen\t2,000', 'Tromsø\t2,000', 'Oslo\t1,999']);
    await page.getByLabel('Values', { exact: true }).selectOption('Degrees');
    await until(async () => (await values())[0] === 'Bergen\t19.50\t2,000\t39,000\t0\t39');
    await page.getByLabel('and', { exact: true }).selectOption('Degrees');
    await until(async () => (await values())[0]?.startsWith('Bergen\t39\t39\t50\t') === true);
    expect(await page.locator('.totals h2').innerText()).to.equal('Mean degrees by station and degrees');
    expect(await addressOf(page)).to.match(/#\/weather\?tab=totals&of=degrees&totals=station,degrees$/);
    await page.reload();
    await until(async () => (await values()).length === 50);
    await page.getByRole('button', { name: 'Rows', exact: true }).click();
    expect(await addressOf(page)).to.contain('order=-count');
    await page.getByLabel('and', { exact: true }).selectOption('nothing else');
    await until(async () => (await values()).length === 3);
    await page.locator('.totals').getByRole('button', { name: 'Oslo' }).click();
    await countIs('1,999 matching rows');
    await until(async () => (await values()).length === 1);
    expect(await addressOf(page)).to.contain('station%5Beq%5D=Oslo');
  });

  it('shows totals by two columns as a cross table or as a list', async () => {
    const { page } = browser;
    await view('books?tab=totals&totals=author,published&of=pages');
    const rows = async () =>
      (await page.locator('.totals tr').allInnerTexts()).map((text) => text.replaceAll('\n', ''));
    await until(async () => (await rows()).length === 4);
    expect(await rows()).to.deep.equal([
      'Author by published\t1813\t1815\t1847\t1859',
      'Charles Dickens\t–\t–\t–\t544',
      'Charlotte Brontë\t–\t–\t–\t–',
      'Jane Austen\t480\t512\t–\t–',
    ]);
    await page.getByRole('button', { name: '1815' }).click();
    expect((await rows())[1]).to.equal('Jane Austen\t480\t512\t–\t–');
    await page.getByRole('radio', { name: 'List' }).check();
    await until(async () => (await rows()).length === 5);
    expect((await rows())[1]).to.equal('Charles Dickens\t1859\t544\t1\t544\t544\t544');
    expect(await addressOf(page)).to.match(/of=pages&as=list$/);
    await page.reload();
    await until(async () => (await rows()).length === 5);
  });

  it('explains failed responses in place, and tries again', async () => {
    const { page } = browser;
    await view('books');
    const unavailable = { status: 503, headers: { 'Retry-After': '2' }, json: { error: 'Unavailable.', code: 'x' } };
    await page.route('**/totals/**', (route) => route.fulfill(unavailable));
    await page.getByText('Totals', { exact: true }).click();
    await page.getByRole('heading', { name: 'The service is temporarily unavailable' }).waitFor();
    await page.locator('.facet summary', { hasText: 'Pages' }).click();
    await page.getByText('Counting the values takes too long.').waitFor();
    await page.unroute('**/totals/**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Rows by author' }).waitFor();
    await page.route('**/totals/**', (route) =>
      route.fulfill({ status: 400, json: { error: '"by" gives more than 10000 groups.', code: 'invalid_parameter' } }),
    );
    await page.getByLabel('Group by').selectOption('Pages');
    await page.getByRole('alert').filter({ hasText: 'more than 10000 groups' }).waitFor();
    await view('books?tab=time');
    await page.getByRole('alert').filter({ hasText: 'more than 10000 groups' }).waitFor();
    await page.getByText('Too many different values to list.').first().waitFor();
    await page.unroute('**/totals/**');
  });

  it('shows the rows of the last choice, even if an earlier response arrives later', async () => {
    const { page } = browser;
    await view('weather');
    const first = await holdFirst(page, '**/weather?sort=*');
    await page.getByRole('button', { name: 'Station', exact: true }).click();
    await first.requested;
    await page.getByRole('button', { name: 'Oslo' }).click();
    await countIs('1–100 of 1,999 matching rows');
    await first.release();
    await countIs('1–100 of 1,999 matching rows');
    expect(new Set(await cells(1))).to.deep.equal(new Set(['Oslo']));
  });

  it('draws totals of all rows as lines and bars, shows values with the arrow keys, and keeps the choices', async () => {
    const { page } = browser;
    await view('weather?tab=time&station%5Beq%5D=Oslo');
    await page.getByText('Based on all 1,999 matching rows that have a value.').waitFor();
    await page.locator('.plot').press('Home');
    expect(await page.locator('.readout').textContent()).to.equal('2020-01-01 · Oslo −10');
    for (const _ of [1, 2, 3]) await page.locator('.plot').press('ArrowRight');
    expect(await page.locator('.readout').textContent()).to.equal('2020-01-04 · no value');
    await page.getByText('Bars', { exact: true }).click();
    await page.getByLabel('Values', { exact: true }).selectOption('Number of rows');
    await page.getByRole('heading', { name: 'Weather: number of rows by year' }).waitFor();
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
    it(`has no accessibility problem, error, overflow or clipped label, ${colorScheme} at ${width} pixels`, async function () {
      this.timeout(60_000);
      const { page, complaints } = browser;
      complaints.length = 0;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      for (const name of [
        'books',
        'books?q=nothing',
        'weather',
        'weather?tab=totals&totals=station,degrees&of=degrees',
        'books?tab=totals&totals=author,published&of=pages',
        'weather?tab=time&form=bars',
        'books/9780141439587',
        'status',
      ]) {
        await view(name);
        await page.evaluate('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
        expect(await accessibilityProblems(page), name).to.deep.equal([]);
        expect(await page.evaluate(LABEL_PROBLEMS), name).to.deep.equal([]);
        expect(await page.evaluate(LAYOUT_PROBLEMS), name).to.deep.equal([]);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), name).to.be.at.most(0);
      }
      await view('books');
      await page.getByRole('button', { name: 'Columns' }).click();
      expect(await accessibilityProblems(page)).to.deep.equal([]);
      expect(complaints).to.deep.equal([]);
    });
  }

  it('explains why there are no totals or no chart, and does not draw rows that the filters exclude', async () => {
    const { page } = browser;
    for (const [name, text] of [
      ['books?tab=totals&q=nothing', 'No matching rows'],
      ['books?tab=time&q=nothing', 'No values'],
      ['books?tab=time&value=pages&pages[null]=true', 'No values'],
    ] as const) {
      await view(name);
      expect(await page.locator('.browse .notice h2').innerText(), name).to.equal(text);
      expect(await page.locator('main :is(.plot, table)').count(), name).to.equal(0);
    }
  });

  it('names the table in the address as soon as the user chooses something', async () => {
    const { page } = browser;
    await page.goto(`${service.origin}/tables?view=${views++}`);
    await page.getByText('Totals', { exact: true }).click();
    await page.locator('.totals').waitFor();
    expect(new URL(await addressOf(page)).hash).to.equal('#/books?tab=totals');
  });

  it('wraps a column name without spaces on a phone', async () => {
    const { page } = browser;
    await page.setViewportSize({ width: 390, height: 900 });
    await page.route('**/openapi.json', async (route) => {
      const text = await (await route.fetch()).text();
      await route.fulfill({ body: text.replace('"type":["string","null"]', `"title":"${'x'.repeat(90)}",$&`) });
    });
    await view('books');
    await page.getByText('Filters').click();
    expect(await page.locator('.question').innerText()).to.contain('x'.repeat(90));
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.be.at.most(0);
    await page.unroute('**/openapi.json');
  });

  it('shows a title, the problem and a retry if the description of the API cannot be loaded', async () => {
    const { page } = browser;
    await page.route('**/openapi.json', (route) => route.abort());
    await page.goto(`${service.origin}/tables?view=${views++}`);
    await page.locator('h1').waitFor();
    expect(await page.locator('h1').innerText()).to.equal('The service cannot be reached');
    expect(await page.locator('#announcement').textContent()).to.equal('The service cannot be reached');
    expect(await page.locator('main').getAttribute('aria-busy')).to.equal(null);
    await page.unroute('**/openapi.json');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.rows tbody tr').first().waitFor();
    expect(await page.title()).not.to.contain('cannot be reached');
  });

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

  it('prints the filters, and columns that are hidden at the edge of a screen', async () => {
    const { page } = browser;
    await page.setViewportSize({ width: 390, height: 900 });
    await view('books?pages%5Bgt%5D=1');
    const height = await page.evaluate('getComputedStyle(document.querySelector(".rows .scroll")).maxHeight');
    expect(height, 'the page scrolls, not the list').to.equal('none');
    await page.emulateMedia({ media: 'print' });
    const printed = await page.locator('main').innerText();
    const overflow = await page.evaluate('getComputedStyle(document.querySelector(".rows .scroll")).overflow');
    await page.emulateMedia({ media: 'screen' });
    await page.setViewportSize({ width: 1280, height: 900 });
    expect(printed).to.contain('match: Pages above 1.').and.not.contain('×');
    expect(overflow).to.equal('visible');
  });

  it('links web addresses in rows, but no other text', async () => {
    const { page } = browser;
    const address = 'https://library.example/books?of=dante';
    await page.route('**/api/v1/books?*', async (route) => {
      const response = await route.fetch();
      const { data, ...rest } = await response.json();
      const [first, second, ...others] = data;
      const changed = [{ ...first, title: address }, { ...second, title: `javascript:alert('${address}')` }, ...others];
      await route.fulfill({ response, json: { ...rest, data: changed } });
    });
    await view('books?q=');
    await page.locator('td a').first().waitFor();
    const links = await Promise.all((await page.locator('td a').all()).map((each) => each.getAttribute('href')));
    await page.unroute('**/api/v1/books?*');
    expect(links).to.deep.equal([address]);
  });
});

describe('the filters of a table with more rows than the service counts', () => {
  let service: Awaited<ReturnType<typeof startTableService>>;
  let browser: TestBrowser;
  before(async function () {
    this.timeout(60_000);
    service = await startTableService({ anonymous: true, sales: 50_001 });
    browser = await openBrowser(this, { origin: service.origin });
  });
  after(async () => {
    await browser?.close();
    await service?.close();
  });

  const until = async (condition: () => Promise<boolean>) => {
    while (!(await condition())) await browser.page.waitForTimeout(20);
  };

  it('name the values of a boolean column without counts, and say why the others are missing', async () => {
    const { page } = browser;
    await page.goto(`${service.origin}/tables#/sales`);
    const filters = page.getByRole('region', { name: 'Filters' });
    await filters.getByText('The table has too many rows to count its values.').nth(1).waitFor();
    expect(await filters.locator('.facet', { hasText: 'Sold' }).locator('li').allInnerTexts()).to.deep.equal([
      'yes',
      'no',
    ]);
    await filters.getByLabel('Type is').fill('loft');
    await filters.getByLabel('Type is').press('Enter');
    await page.getByRole('button', { name: 'Remove: Type is loft' }).waitFor();
    await filters.getByRole('button', { name: 'no' }).click();
    await page.getByRole('button', { name: 'Remove: Sold is no' }).waitFor();
    await until(async () => (await page.locator('.rows tbody a').first().innerText()) === '3');
    expect(await filters.getByRole('button', { name: 'no' }).getAttribute('aria-pressed')).to.equal('true');
  });
});

describe('embedded tables in Chromium', () => {
  let service: Awaited<ReturnType<typeof startTableService>>;
  let site: Server;
  let browser: TestBrowser;
  before(async function () {
    this.timeout(60_000);
    service = await startTableService({ anonymous: true });
    browser = await openBrowser(this, { origin: service.origin });
    await browser.page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: service.origin });
    site = createServer((_, response) => response.end('<!doctype html><html lang="en"><title>A blog</title>'));
    await once(site.listen(0, '127.0.0.1'), 'listening');
  });
  after(async () => {
    site?.close();
    await browser?.close();
    await service?.close();
  });

  for (const [address, content, texts] of [
    ['weather?station[in]=Oslo', '.rows tbody tr', ['Weather', 'Station is Oslo', '1–100 of 1,999 matching rows']],
    ['weather?tab=totals&totals=station', '.totals tbody tr', ['Weather', 'Rows by station', 'Tromsø']],
    ['weather?tab=time&form=bars', '.plot .bar', ['Weather: mean of degrees peaked at ', '2020']],
  ] as const) {
    it(`shows ${address} in another site, without a key and without controls`, async () => {
      const { page, complaints } = browser;
      complaints.length = 0;
      await page.goto(`${service.origin}/tables?view=${address}#/${address}`);
      await page.locator(content).first().waitFor();
      await page.locator('summary').getByText('Embed').click();
      await page.getByText('Any site can embed this figure.').waitFor();
      await page.getByRole('button', { name: 'Copy embed' }).click();
      await page.getByText('Copied').waitFor();
      const code = await page.evaluate<string>('navigator.clipboard.readText()');
      const { port } = site.address() as AddressInfo;
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.evaluate(`document.body.innerHTML = ${JSON.stringify(code)}`);
      const frame = page.frameLocator('iframe');
      await frame.locator(content).first().waitFor();
      const shown = await frame.locator('body').innerText();
      for (const text of [...texts, 'Source: ']) expect(shown).to.contain(text);
      expect(shown).not.to.match(/metro|house price|forecast/i);
      expect(await frame.locator('header, .tools, details, select').filter({ visible: true }).count()).to.equal(0);
      const link = String(await frame.locator('.whole a').getAttribute('href'));
      expect(decodeURIComponent(link)).to.equal(`/tables#/${address}`);
      expect(complaints.filter((complaint) => !complaint.includes(`127.0.0.1:${port}`))).to.deep.equal([]);
      await page.route('**/api/v1/*weather*', (route) => route.fulfill({ status: 503, body: '{}' }));
      await page.goto(`${service.origin}/tables/embed#/${address}`);
      await page.getByRole('button', { name: 'Try again' }).waitFor();
      await page.unroute('**/api/v1/*weather*');
      await page.goto('about:blank');
      await page.goto(`${service.origin}/tables/embed#/${address}`);
      await page.locator(content).first().waitFor();
      expect(await accessibilityProblems(page)).to.deep.equal([]);
      expect(await page.evaluate(LAYOUT_PROBLEMS)).to.deep.equal([]);
    });
  }
});

import { join } from 'node:path';
import { expect } from 'chai';
import { openDirectory } from '../../../../core/data/directory.js';
import { packageRoot } from '../../../../core/util/package.js';
import { statesOf } from '../../../../plugins/metro/areas.js';
import { parseCsv } from '../../../support/csv-parser.js';
import { otherAdapters, publishTo } from '../../../support/other-adapters.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

type Row = Readonly<Record<string, string | number | null>>;

const sample = join(packageRoot, 'plugins/metro/dataset');
const LISTS = ['/markets', '/forecasts', '/signals', '/movers?limit=50'];
const place = (order: string, ...values: unknown[]): string =>
  Buffer.from(JSON.stringify([order, ...values])).toString('base64url');
const with_ = (path: string, query: string) => `${path}${path.includes('?') ? '&' : '?'}${query}`;

describe('parameters of lists', function () {
  this.timeout(60_000);
  let service: TestApp;
  const rowsOf = async (target: string): Promise<Row[]> => {
    const { status, json } = await service.get(target);
    expect(status, `${target} ${JSON.stringify(json.error)}`).to.equal(200);
    return json.data;
  };

  before(async () => {
    service = await startTestApp({ config: { adapter: { use: 'json', options: { path: sample } } } });
  });
  after(() => service.close());

  for (const list of LISTS) {
    it(`GET ${list} has the rows with any of the given states, signals and grades, in order`, async () => {
      const all = await rowsOf(list);
      const lies = (row: Row, ...states: string[]) =>
        statesOf({ cbsa: String(row['cbsa']), name: String(row['name']) }).some((one) => states.includes(one));
      expect(await rowsOf(with_(list, 'state=TX,KS'))).to.deep.equal(all.filter((row) => lies(row, 'TX', 'KS')));
      expect(await rowsOf(with_(list, 'signal=hold,contract'))).to.deep.equal(
        all.filter(({ signal }) => signal === 'hold' || signal === 'contract'),
      );
      expect(await rowsOf(with_(list, 'state=TX&signal=expand'))).to.deep.equal(
        all.filter((row) => lies(row, 'TX') && row['signal'] === 'expand'),
      );
      expect(await rowsOf(with_(list, 'state=AK'))).to.deep.equal([]);
      if (list.startsWith('/movers')) return;
      const grades = await rowsOf(with_(list, 'risk_score=A,F'));
      expect(grades).to.deep.equal(all.filter(({ risk_score }) => risk_score === 'A' || risk_score === 'F'));
      expect(grades).to.not.be.empty;
    });

    it(`GET ${list}&sort= is ascending, or descending with "-", with nulls last and ties by code`, async () => {
      const all = await rowsOf(list);
      for (const column of Object.keys(all[0] as Row)) {
        for (const [sort, sign] of [
          [column, 1],
          [`-${column}`, -1],
        ] as const) {
          const sorted = await rowsOf(with_(list, `sort=${sort}`));
          expect(sorted, sort).to.have.deep.members(all);
          for (const [i, row] of sorted.slice(1).entries()) {
            const [before, after] = [(sorted[i] as Row)[column]!, row[column]!];
            if (before === after) expect(String(sorted[i]!['cbsa']) < String(row['cbsa']), sort).to.equal(true);
            else if (before === null) expect.fail(`${sort}: null before ${after}`);
            else if (after !== null) expect(before < after, `${sort}: ${before}, ${after}`).to.equal(sign === 1);
          }
        }
      }
    });
  }

  it('GET /markets?sort=signal,-forecast_12m sorts by the first column, then by the second', async () => {
    const all = await rowsOf('/markets?signal=hold,expand&sort=signal,-forecast_12m');
    const bySignal = ['expand', 'hold'].map((signal) => rowsOf(`/markets?signal=${signal}&sort=-forecast_12m`));
    expect(all).to.deep.equal((await Promise.all(bySignal)).flat());
  });

  it('GET /movers?sort=-delta_pp&limit=3 sorts before it limits', async () => {
    const all = await rowsOf('/movers?limit=50&sort=-delta_pp');
    expect(await rowsOf('/movers?limit=3&sort=-delta_pp')).to.deep.equal(all.slice(0, 3));
  });

  it('GET /signals?sort=-forecast_12m&format=csv has the rows in that order', async () => {
    const codes = (await rowsOf('/signals?sort=-forecast_12m')).map(({ cbsa }) => cbsa);
    const csv = (await service.get('/signals?sort=-forecast_12m&format=csv')).text.trim().split('\r\n').slice(1);
    expect(csv.map((line) => line.slice(0, 5))).to.deep.equal(codes);
  });

  for (const [target, name, advice] of [
    ['/markets?signal=expnd', 'signal', 'did you mean "expand"?'],
    ['/signals?risk_score=A,E', 'risk_score', 'does not allow "E"'],
    ['/forecasts?sort=-forcast_12m', 'sort', 'does not allow "-forcast_12m"; did you mean "-forecast_12m"?'],
    ['/markets?format=csv,json', 'format', 'allows only one value, not the list "csv,json"'],
    ['/markets?sort=delta_pp', 'sort', 'does not allow "delta_pp"'],
    ['/markets?sort=name,', 'sort', 'must not be empty'],
    ['/movers?state=Texas', 'state', 'does not allow "Texas"; allowed values include AK, AL, AR'],
    ['/movers?state=tx', 'state', 'does not allow "tx"; did you mean "TX"?'],
    ['/markets?state=', 'state', 'must not be empty'],
    ['/movers?risk_score=A', 'risk_score', 'is not known'],
    ['/markets?fields=cbsa,nam', 'fields', 'does not allow "nam"; did you mean "name"?'],
    ['/movers?fields=risk_score', 'fields', 'allowed values: cbsa, name, forecast_12m'],
    ['/signals?fields=', 'fields', 'must not be empty'],
    ['/markets?limit=0', 'limit', 'must be >= 1'],
    ['/signals?limit=1001', 'limit', 'must be <= 1000'],
    ['/movers?limit=51', 'limit', 'must be <= 50'],
    ['/forecasts?limit=ten', 'limit', 'must be an integer'],
    ['/forecasts?limit=99999999999999999999', 'limit', 'must be <= 1000'],
    ['/forecasts?limit=-99999999999999999999', 'limit', 'must be >= 1'],
    ['/markets?after=', 'after', 'must not be empty'],
    ['/markets?after=26420', 'after', 'must be copied from the "next" link of the previous page'],
    [`/markets?after=${place('cbsa')}`, 'after', 'must be copied from'],
    [`/markets?after=${place('cbsa', {})}`, 'after', 'must be copied from'],
    [`/markets?after=${place('cbsa', '26420')}=`, 'after', 'must be copied from'],
    [
      `/markets?after=${place('-name,cbsa', 'Tampa', '45300')}`,
      'after',
      'belongs to a list in a different order: send it with the same',
    ],
    [`/movers?after=${place('cbsa', '26420')}`, 'after', 'belongs to a list in a different order'],
  ] as const) {
    it(`GET ${target} is a 400 with advice`, async () => {
      const { status, json } = await service.get(target);
      expect([status, json.details[0].name]).to.deep.equal([400, name]);
      expect(JSON.stringify(json.details)).to.include(JSON.stringify(advice).slice(1, -1));
    });
  }

  const pagesOf = async (from: TestApp, first: string) => {
    const texts: string[] = [];
    const links: (string | undefined)[] = [];
    for (let target: string | undefined = first; target !== undefined && texts.length < 100; ) {
      const { text, headers } = await from.get(target);
      const link = headers['link'] as string | undefined;
      const [, reference]: (string | undefined)[] = /^<(\?[^>]*)>; rel="next"$/.exec(link ?? '') ?? [];
      texts.push(text);
      links.push(link);
      target = reference && target.replace(/\?.*/, '') + reference;
    }
    return { texts, links };
  };

  const FIRST_PAGES = ['/markets', '/forecasts', '/signals', '/movers'].flatMap((list) =>
    ['limit=7', 'limit=50', 'limit=3&sort=-forecast_12m&signal=hold', 'limit=9&sort=signal&fields=signal,cbsa'].map(
      (query) => `${list}?${query}`,
    ),
  );

  for (const first of FIRST_PAGES) {
    it(`the pages from GET ${first} together are the whole list`, async () => {
      const { texts, links } = await pagesOf(service, first);
      const rows = texts.flatMap((text) => JSON.parse(text).data);
      const limit = Number(/limit=(\d+)/.exec(first)![1]);
      const list = first.replace(/limit=\d+&?/, first.startsWith('/movers') ? 'limit=50&' : '');
      const whole = await rowsOf(list);
      // `/movers` always has a limit.
      expect(first.startsWith('/movers') ? rows.slice(0, 50) : rows).to.deep.equal(whole);
      expect(texts).to.have.length(Math.max(1, Math.ceil(rows.length / limit)));
      expect(links.at(-1)).to.equal(undefined);
    });
  }

  it('links keep the format of the parameter or of Accept', async () => {
    const requested = await service.get('/markets?limit=4&format=csv');
    const accepted = await service.get('/markets?limit=4', { headers: { Accept: 'text/csv' } });
    expect(accepted.headers['link']).to.equal(requested.headers['link']).and.include('format=csv');
    const { texts } = await pagesOf(service, '/markets?limit=4&format=csv');
    const [header] = parseCsv(texts[0]!);
    expect(texts.flatMap((text) => parseCsv(text).slice(1))).to.deep.equal(
      parseCsv((await service.get('/markets?format=csv')).text).slice(1),
    );
    for (const text of texts) expect(parseCsv(text)[0]).to.deep.equal(header);
  });

  it('has the link in a 304 and for HEAD, readable by pages of other origins', async () => {
    const { headers } = await service.get('/markets?limit=4', { headers: { Origin: 'https://example.org' } });
    expect(headers['access-control-expose-headers']).to.match(/\bLink\b/);
    const known = await service.get('/markets?limit=4', { headers: { 'If-None-Match': headers.etag! } });
    const head = await service.get('/markets?limit=4', { method: 'HEAD' });
    expect([known.status, known.headers['link'], head.headers['link']]).to.deep.equal([
      304,
      headers['link'],
      headers['link'],
    ]);
  });

  it("continues after the cursor's market was removed", async () => {
    const all = await rowsOf('/markets');
    for (const code of ['00000', '26421', '99999']) {
      const expected = all.filter(({ cbsa }) => String(cbsa) > code);
      expect(await rowsOf(`/markets?after=${place('cbsa', code)}`), code).to.deep.equal(expected);
    }
  });

  it('GET ?fields= returns only these keys, in declared order, in JSON, NDJSON and CSV', async () => {
    for (const list of LISTS) {
      const all = await rowsOf(list);
      const chosen = all.map(({ cbsa, name }) => ({ cbsa, name }));
      const json = await service.get(with_(list, 'fields=name,%20cbsa'));
      expect(json.text).to.equal(JSON.stringify({ data: chosen }));
      const lines = await service.get(with_(list, 'fields=name,cbsa&format=ndjson'));
      expect(lines.text).to.equal(chosen.map((row) => `${JSON.stringify(row)}\n`).join(''));
      expect(lines.headers['content-type']).to.equal('application/x-ndjson; charset=utf-8');
      const csv = parseCsv((await service.get(with_(list, 'fields=name,cbsa&format=csv'))).text);
      expect(csv).to.deep.equal([['cbsa', 'name'], ...chosen.map(({ cbsa, name }) => [cbsa, name])]);
    }
  });

  for (const [adapter, section] of Object.entries(otherAdapters)) {
    it(`has the same bytes on ${adapter} as on json`, async () => {
      const other = await startTestApp({ config: { adapter: await section() } });
      try {
        await publishTo(other, (await openDirectory(sample)).dataset);
        for (const list of LISTS) {
          for (const query of [
            '',
            'state=TX,CA&sort=-forecast_12m',
            'signal=hold',
            'sort=name&format=csv',
            'fields=name',
          ])
            expect((await other.get(with_(list, query))).text, `${list} ${query}`).to.equal(
              (await service.get(with_(list, query))).text,
            );
        }
        for (const first of FIRST_PAGES) {
          expect(await pagesOf(other, first), first).to.deep.equal(await pagesOf(service, first));
        }
      } finally {
        await other.close();
      }
    });
  }
});

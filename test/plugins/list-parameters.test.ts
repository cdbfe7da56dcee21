/** Filters and sorting of lists, through real HTTP, on every adapter of the package. */
import { join } from 'node:path';
import { expect } from 'chai';
import { resolve } from '../../app/container.js';
import { openDirectory } from '../../core/dataset/directory.js';
import { packageRoot } from '../../core/package-root.js';
import { statesOf } from '../../metro/areas.js';
import { mongoForTests, uniqueName } from '../support/services.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

type Row = Readonly<Record<string, string | number | null>>;

const sample = join(packageRoot, 'dataset');
const LISTS = ['/markets', '/forecasts', '/signals', '/movers?limit=50'];
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
    it(`GET ${list} keeps the rows of any of the states, signals and grades, in their order`, async () => {
      const all = await rowsOf(list);
      const lies = (row: Row, ...states: string[]) => statesOf(String(row['name'])).some((one) => states.includes(one));
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

    it(`GET ${list}&sort= goes up, or down with a "-", nulls last, ties by code`, async () => {
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

  it('GET /movers?sort=-delta_pp&limit=3 cuts what is sorted', async () => {
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
    ['/signals?risk_score=A,E', 'risk_score', 'has no value "E"'],
    ['/forecasts?sort=-forcast_12m', 'sort', 'has no value "-forcast_12m"; did you mean "forecast_12m"?'],
    ['/markets?sort=delta_pp', 'sort', 'it has: id, cbsa, name, signal, risk_score, yoy_price, forecast_12m'],
    ['/movers?state=Texas', 'state', 'must be postal codes like TX or TX,OK, and has "Texas"'],
    ['/markets?state=', 'state', 'must'],
    ['/movers?risk_score=A', 'risk_score', 'is not known'],
  ] as const) {
    it(`GET ${target} is a 400 that says what to do`, async () => {
      const { status, json } = await service.get(target);
      expect([status, json.details[0].name]).to.deep.equal([400, name]);
      expect(JSON.stringify(json.details)).to.include(JSON.stringify(advice).slice(1, -1));
    });
  }

  for (const [adapter, options] of Object.entries({
    memory: async () => ({}),
    mongo: async () => ({ uri: (await mongoForTests()).url, database: uniqueName('lists') }),
  })) {
    it(`answers the same bytes on ${adapter} as on json`, async () => {
      const other = await startTestApp({ config: { adapter: { use: adapter, options: await options() } } });
      try {
        const { dataset, manifest } = await openDirectory(sample);
        await resolve(other.app.container, 'adapter').publish!(dataset);
        for (let tries = 0; tries < 100; tries++) {
          if ((await other.get('/markets')).headers['snapshot-version'] === manifest.version) break;
          await new Promise((next) => setTimeout(next, 50));
        }
        for (const list of LISTS) {
          for (const query of ['', 'state=TX,CA&sort=-forecast_12m', 'signal=hold', 'sort=name&format=csv'])
            expect((await other.get(with_(list, query))).text, `${list} ${query}`).to.equal(
              (await service.get(with_(list, query))).text,
            );
        }
      } finally {
        await other.close();
      }
    });
  }
});

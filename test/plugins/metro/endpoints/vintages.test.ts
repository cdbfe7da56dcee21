import { expect } from 'chai';
import { partOf } from '../../../../core/app/create-app.js';
import { datasetVersion } from '../../../support/dataset-version.js';
import { ATLANTA, HOUSTON } from '../../../support/fixture.js';
import { memoryDataset } from '../../../support/memory-dataset.js';
import { mongoForTests, uniqueName } from '../../../support/services.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

const TARGETS = [
  `/markets/${HOUSTON}/history`,
  `/markets/${HOUSTON}/forecast-track`,
  '/observations?series_id=UNRATE',
  `/observations?series_id=metro_hpi&cbsa=${ATLANTA}&since=2025-04-01`,
  '/forecasts',
  `/forecasts/${ATLANTA}/history`,
  '/signals',
  '/markets',
  `/markets/${HOUSTON}`,
  '/movers',
  '/forecast-runs',
  '/forecast-track',
  '/forecast-history',
  '/forecast-backtest',
  '/forecast-backtest/breakdown?by=year',
  '/series',
];

/** The second version is published in the last millisecond of its day. */
const PUBLISHED = ['2026-03-10T08:00:00Z', '2026-03-20T23:59:59.999Z', '2026-04-01T00:00:00Z'];

const at = (target: string, date: string): string => `${target}${target.includes('?') ? '&' : '?'}as_of=${date}`;

const publish = async (service: TestApp, number: number, created: string): Promise<string> => {
  const { manifest, collections } = datasetVersion(number);
  await partOf(service.app, 'adapter').publish!(memoryDataset({ ...manifest, created }, collections));
  for (let tries = 0; tries < 100; tries++) {
    const { headers } = await service.get('/markets');
    if (headers['snapshot-version'] === manifest.version) return manifest.version;
    await new Promise((next) => setTimeout(next, 50));
  }
  throw new Error(`${manifest.version} is not served`);
};

const adapters: Readonly<Record<string, () => Promise<object>>> = {
  memory: async () => ({ use: 'memory', options: {} }),
  mongo: async () => ({ use: 'mongo', options: { uri: (await mongoForTests()).url, database: uniqueName('as-of') } }),
};

for (const [name, adapter] of Object.entries(adapters)) {
  describe(`as_of on ${name}`, function () {
    this.timeout(60_000);
    let service: TestApp;
    const then = new Map<string, { text: string; etag: string | undefined; lastModified: string | undefined }>();
    const versions: string[] = [];

    before(async () => {
      service = await startTestApp({ config: { adapter: await adapter() } });
      expect((await service.get(at(TARGETS[0]!, '2026-03-15'))).status, 'with nothing published').to.equal(503);
      for (const [number, created] of PUBLISHED.entries()) {
        const version = await publish(service, number + 1, created);
        versions.push(version);
        for (const target of TARGETS) {
          const { text, headers } = await service.get(target);
          then.set(`${version} ${target}`, { text, etag: headers.etag, lastModified: headers['last-modified'] });
        }
      }
    });
    after(() => service?.close());

    for (const [date, index] of [
      ['2026-03-10', 0],
      ['2026-03-19', 0],
      ['2026-03-20', 1],
      ['2026-03-31', 1],
      ['2026-04-01', 2],
      ['9999-12-31', 2],
    ] as const) {
      it(`as_of=${date} has the response, version and time of that day`, async () => {
        for (const target of TARGETS) {
          const { status, text, headers } = await service.get(at(target, date));
          expect(status, target).to.equal(200);
          expect(headers['snapshot-version'], target).to.equal(versions[index]);
          const { etag } = headers;
          const lastModified = headers['last-modified'];
          expect({ text, etag, lastModified }, target).to.deep.equal(then.get(`${versions[index]} ${target}`));
        }
      });
    }

    it('vintages have different numbers', () => {
      for (const target of TARGETS) {
        const texts = versions.map((version) => then.get(`${version} ${target}`)!.text);
        if (!target.startsWith('/forecasts/')) expect(new Set(texts).size, target).to.equal(versions.length);
      }
    });

    it('as_of before the first snapshot is a 404', async () => {
      const { status, json } = await service.get(at('/signals', '2026-03-09'));
      expect([status, json.code]).to.deep.equal([404, 'snapshot_not_found']);
      expect(json.error).to.contain('no snapshot as of 2026-03-09: nothing was published before the end of that day');
    });

    for (const value of ['', 'yesterday', '2026-02-30', '2026-03-10T00:00:00Z']) {
      it(`as_of=${value} is a 400 invalid_parameter`, async () => {
        const { status, json } = await service.get(at('/signals', value));
        expect([status, json.code, json.details[0].name]).to.deep.equal([400, 'invalid_parameter', 'as_of']);
      });
    }

    it('/markets/99999/history?as_of= of an unknown market is a 404 market_not_found', async () => {
      expect((await service.get(at('/markets/99999/history', '2026-03-15'))).json.code).to.equal('market_not_found');
    });

    it('/health?as_of= is a 400 unknown_parameter', async () => {
      expect((await service.get(at('/health', '2026-03-15'))).json.code).to.equal('unknown_parameter');
    });

    it('supports format=csv, HEAD and If-None-Match', async () => {
      const target = at(TARGETS[0]!, '2026-03-15');
      const csv = await service.get(`${target}&format=csv`);
      expect(csv.headers['snapshot-version']).to.equal(versions[0]);
      const { data } = JSON.parse(then.get(`${versions[0]} ${TARGETS[0]}`)!.text);
      expect(csv.text.split('\r\n')[1]).to.equal(`${data[0].period_start},${data[0].value}`);
      expect((await service.get(target, { method: 'HEAD' })).headers['snapshot-version']).to.equal(versions[0]);
      const again = await service.get(target, {
        headers: { 'If-None-Match': (await service.get(target)).headers.etag! },
      });
      expect([again.status, again.headers['snapshot-version']]).to.deep.equal([304, versions[0]]);
    });
  });
}

describe('as_of on json', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp();
  });
  after(() => service.close());

  for (const target of TARGETS) {
    it(`GET ${at(target, '2026-03-01')} is a 404, since the store keeps only a later version`, async () => {
      const { status, json } = await service.get(at(target, '2026-03-01'));
      expect([status, json.code]).to.deep.equal([404, 'snapshot_not_found']);
      expect(json.error).to.contain('keeps only its current version, which was published on 2026-03-02');
    });

    for (const date of ['2026-03-02', '9999-12-31'])
      it(`GET ${at(target, date)} is the current version`, async () => {
        const [dated, current] = [await service.get(at(target, date)), await service.get(target)];
        expect([dated.status, dated.text]).to.deep.equal([200, current.text]);
        expect(dated.headers['snapshot-version']).to.equal(current.headers['snapshot-version']);
      });
  }
});

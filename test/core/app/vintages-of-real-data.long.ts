import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { partOf } from '../../../core/app/create-app.js';
import { openDirectory } from '../../../core/data/directory.js';
import { runProcess } from '../../support/command-process.js';
import { HOUSTON } from '../../support/fixture.js';
import { mongoForTests, uniqueName } from '../../support/services.js';
import { needSharedData } from '../../support/shared-data.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const VINTAGES = [
  { file: 'fhfa/hpi_at_metro_2024Q3.csv', created: '2024-11-26T14:00:00Z', last: '2024-07-01', markets: 404 },
  { file: 'fhfa/hpi_at_metro_2025Q4.csv', created: '2026-02-24T14:00:00Z', last: '2025-10-01', markets: 410 },
] as const;

type Row = Readonly<Record<string, unknown>>;

const houston = (text: string): Row[] =>
  [...text.matchAll(/",26420,(\d{4}),([1-4]),([\d.]+),/g)].map(([, year, quarter, value]) => ({
    period_start: `${year}-${String(Number(quarter) * 3 - 2).padStart(2, '0')}-01`,
    value: Number(value),
  }));

const adapters: Readonly<Record<string, () => Promise<object>>> = {
  memory: async () => ({ use: 'memory', options: {} }),
  mongo: async () => ({
    use: 'mongo',
    options: { uri: (await mongoForTests()).url, database: uniqueName('real-vintages') },
  }),
};

describe("as_of on FHFA's 2024Q3 and 2025Q4 vintages", function () {
  this.timeout(180_000);
  let folder: string;
  const files: string[] = [];

  before(async function () {
    const shared = needSharedData(this as never);
    folder = await mkdtemp(join(tmpdir(), 'real-vintages-'));
    for (const { file, created } of VINTAGES) {
      const path = join(shared, file);
      files.push(await readFile(path, 'utf8'));
      const dataset = join(folder, created.slice(0, 10));
      await runProcess(['import', path, '--to', dataset, '--created', created], {});
      await runProcess(['forecast', dataset, '--runs', '8', '--created', created], {});
    }
  });
  after(async () => {
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  for (const [name, adapter] of Object.entries(adapters)) {
    it(`returns the numbers of each vintage on ${name}, before and after the next vintage is published`, async () => {
      const service: TestApp = await startTestApp({ config: { adapter: await adapter() } });
      try {
        const data = async (target: string): Promise<readonly Row[]> => {
          const { status, json } = await service.get(target);
          expect(status, `${target}: ${JSON.stringify(json.error)}`).to.equal(200);
          return json.data;
        };
        const published: string[] = [];
        const expectVintage = async (index: number, date: string) => {
          const { created, last, markets } = VINTAGES[index]!;
          const history = await service.get(`/markets/${HOUSTON}/history?as_of=${date}`);
          expect(history.json.data).to.deep.equal(houston(files[index]!));
          expect(history.json.data.at(-1).period_start).to.equal(last);
          expect(history.headers['snapshot-version']).to.equal(published[index]);
          expect(history.headers['last-modified']).to.equal(new Date(created).toUTCString());
          const narrowed = `/observations?series_id=metro_hpi&cbsa=${HOUSTON}&since=2020-01-01&as_of=${date}`;
          expect((await data(narrowed)).map(({ period_start, value }) => ({ period_start, value }))).to.deep.equal(
            houston(files[index]!).filter(({ period_start }) => (period_start as string) >= '2020-01-01'),
          );
          // The newest run of a vintage must start from the last quarter of that vintage.
          const target = `${Number(last.slice(0, 4)) + 1}${last.slice(4)}`;
          const track = await data(`/markets/${HOUSTON}/forecast-track?as_of=${date}`);
          expect(track).to.have.length(8);
          expect(track.at(-1)).to.include({ target_period: target, realized: null });
          const forecasts = await data(`/forecasts/${HOUSTON}/history?as_of=${date}`);
          expect(forecasts.at(-1)).to.include({ target_period: target, point: track.at(-1)!['point'] });
          expect((await data(`/forecasts?as_of=${date}`)).length).to.be.within(markets - 10, markets);
          const signal = (await data(`/signals?as_of=${date}`)).find(({ cbsa }) => cbsa === HOUSTON);
          expect(signal).to.include({ forecast_12m: track.at(-1)!['point'], run_id: track.at(-1)!['run_id'] });
        };

        for (const [index, { created }] of VINTAGES.entries()) {
          const { dataset, manifest } = await openDirectory(join(folder, created.slice(0, 10)));
          await partOf(service.app, 'adapter').publish!(dataset);
          published.push(manifest.version);
          for (let tries = 0; tries < 200; tries++) {
            if ((await service.get('/signals')).headers['snapshot-version'] === manifest.version) break;
            await new Promise((next) => setTimeout(next, 50));
          }
          expect((await service.get('/signals?as_of=2024-11-25')).json.code).to.equal('snapshot_not_found');
          for (const date of ['2024-11-26', '2026-02-23']) await expectVintage(0, date);
          for (const date of ['2026-02-24', '2100-01-01']) await expectVintage(index, date);
        }
        expect(published[0]).to.not.equal(published[1]);
      } finally {
        await service.close();
      }
    });
  }
});

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { App } from '../../../core/app/app-types.js';
import { MemoryKeyStore } from '../../../core/keys/memory-key-store.js';
import { createApp, loadConfig } from '../../../product.js';
import { runProcess } from '../../support/command-process.js';
import { request, type TestResponse } from '../../support/http-client.js';
import { needSharedData } from '../../support/shared-data.js';
import { addKey } from '../../support/test-app.js';

interface Served {
  readonly app: App;
  get(target: string): Promise<TestResponse>;
}

const serve = async (folder: string): Promise<Served> => {
  const path = join(folder, 'config.json');
  await writeFile(
    path,
    JSON.stringify({
      server: { port: 0 },
      adapter: { use: 'json', options: { path: 'dataset', pollMs: 100 } },
      plugins: ['markets', 'forecasts', 'observations', 'signals', 'status'],
      log: { level: 'silent' },
    }),
  );
  const keyStore = new MemoryKeyStore();
  const { key } = await addKey(keyStore, { limit_per_minute: 1_000_000 });
  const app = await createApp(await loadConfig({ path, env: {} }), { keyStore });
  const { url } = await app.listen();
  const headers = { Authorization: `Bearer ${key}` };
  return { app, get: (target) => request(`${url}${target}`, { headers }) };
};

describe('import, forecast, validate, start', () => {
  describe("on FHFA's and FRED's own files", function () {
    this.timeout(120_000);
    let folder: string;
    let shared: string;
    let served: Served;

    before(async function () {
      shared = needSharedData(this as never);
      folder = await mkdtemp(join(tmpdir(), 'real-data-'));
      const dataset = join(folder, 'dataset');
      const started = performance.now();
      await runProcess(
        ['import', join(shared, 'fhfa/hpi_at_metro_2025Q4.csv'), join(shared, 'macro'), '--to', dataset],
        {},
      );
      await runProcess(['forecast', dataset], {});
      await runProcess(['validate', dataset], {});
      served = await serve(folder);
      console.log(`      from files to the first answer in ${Math.round(performance.now() - started)} ms`);
    });
    after(async () => {
      await served?.app.close();
      if (folder) await rm(folder, { recursive: true, force: true });
    });

    it('GET /markets lists 410', async () => {
      expect((await served.get('/markets')).json.data).to.have.length(410);
    });

    it("GET /markets/26420/history has 200 rows, and its last row is the file's last row", async () => {
      const { data } = (await served.get('/markets/26420/history')).json;
      expect(data).to.have.length(200);
      const file = await readFile(join(shared, 'fhfa/hpi_at_metro_2025Q4.csv'), 'utf8');
      const value = Number(/,26420,2025,4,([\d.]+),/.exec(file)?.[1]);
      expect(data.at(-1)).to.deep.equal({ period_start: '2025-10-01', value });
    });

    it('GET /markets/35620, a divided parent, is a 404', async () => {
      expect((await served.get('/markets/35620')).status).to.equal(404);
    });

    it('GET /observations?series_id=UNRATE skips 2025-10', async () => {
      const { data } = (await served.get('/observations?series_id=UNRATE&since=2025-09-01')).json;
      const months = data.map(({ period_start }: { period_start: string }) => period_start);
      expect(months.slice(0, 2)).to.deep.equal(['2025-09-01', '2025-11-01']);
    });

    it('GET /observations?series_id=metro_hpi&cbsa=27060 skips 2022Q4', async () => {
      const { data } = (await served.get('/observations?series_id=metro_hpi&cbsa=27060')).json;
      const quarters = data.map(({ period_start }: { period_start: string }) => period_start);
      expect(quarters).to.include.members(['2022-07-01', '2023-01-01']).and.not.include('2022-10-01');
    });

    it('GET /movers, /signals and /forecast-backtest show figures derived from these files', async () => {
      expect((await served.get('/movers')).json.data).to.have.length(5);
      expect((await served.get('/signals')).json.data.length).to.be.greaterThan(400);
      const { data } = (await served.get('/forecast-backtest')).json;
      expect(data.n).to.be.greaterThan(14_000);
      expect(data.skill_mae).to.be.greaterThan(0.1);
      expect(data.mae_pp).to.be.lessThan(data.benchmark.mae_pp);
    });

    it("GET /series shows FHFA's attribution", async () => {
      const { data } = (await served.get('/series')).json;
      const metro = data.find(({ series_id }: { series_id: string }) => series_id === 'metro_hpi');
      expect(metro.notes).to.contain('neither endorsed nor certified by FHFA');
    });

    it('GET /status lists the stale series', async () => {
      const { json } = await served.get('/status');
      const state = (id: string) => json.sources.find((source: { id: string }) => source.id === id).latest_period;
      expect(json.snapshot.synthetic).to.equal(false);
      expect([state('HOUST'), state('HSN1F')]).to.deep.equal(['2025-08-01', '2025-08-01']);
    });

    it('importing the 2024Q3 vintage under load causes no failure and no response with mixed versions', async () => {
      const targets = [
        '/markets',
        '/markets/26420',
        '/markets/26420/history',
        '/signals',
        '/observations?series_id=metro_hpi&since=2024-01-01',
      ];
      const versions = new Map<string, Map<string, string>>();
      let answers = 0;
      let done = false;
      const load = async (offset: number) => {
        for (let i = offset; !done; i++) {
          const target = targets[i % targets.length]!;
          const { status, text, headers } = await served.get(target);
          expect(status, target).to.equal(200);
          answers++;
          // Each version must always return the same body for a target.
          const version = String(headers['snapshot-version']);
          const bodies = versions.get(version) ?? new Map<string, string>();
          versions.set(version, bodies);
          expect(bodies.get(target) ?? text, `${target} of ${version}`).to.equal(text);
          bodies.set(target, text);
          // Without a pause, the clients would slow down the import and the loading of the new version.
          await delay(5);
        }
      };
      const clients = Array.from({ length: 8 }, (_, i) => load(i));
      const failed = Promise.race(clients);
      await Promise.race([
        failed,
        runProcess(['import', join(shared, 'fhfa/hpi_at_metro_2024Q3.csv'), '--to', join(folder, 'dataset')], {}),
      ]);
      while (versions.size < 2) await Promise.race([failed, delay(50)]);
      done = true;
      await Promise.all(clients);
      expect(versions.size).to.equal(2);
      expect(answers).to.be.greaterThan(100);
      const counts = [...versions.values()].map(
        (bodies) => JSON.parse(bodies.get('/markets') ?? '{"data":[]}').data.length,
      );
      expect(counts[0]).to.equal(410);
      expect((await served.get('/markets')).json.data).to.have.length(404);
    });
  });

  describe('on small files of the same formats', () => {
    let folder: string;
    let served: Served;

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'small-data-'));
      const lines: string[] = [];
      for (const [name, code, growth] of [
        ['Alpha, TX', 11111, 1.01],
        ['Beta-Gamma, TX-OK  (MSAD)', 22222, 1.02],
      ] as const) {
        for (let i = 0; i < 120; i++) {
          const missing = i < 4 || (code === 22222 && i === 60);
          const value = missing ? '-,-' : `${(100 * growth ** i + (i % 7)).toFixed(2)},( 2.62)`;
          lines.push(`"${name}",${code},${1990 + Math.floor(i / 4)},${(i % 4) + 1},${value}`);
        }
      }
      await writeFile(join(folder, 'hpi.csv'), `${lines.join('\r\n')}\r\n`);
      await writeFile(
        join(folder, 'UNRATE.csv'),
        '\uFEFFobservation_date,UNRATE\n2019-01-01,4.0\n2019-02-01,.\n2019-03-01,\n2019-04-01,3.6\n',
      );
      const dataset = join(folder, 'dataset');
      await runProcess(['import', join(folder, 'hpi.csv'), join(folder, 'UNRATE.csv'), '--to', dataset], {});
      await runProcess(['forecast', dataset, '--runs', '12'], {});
      await runProcess(['validate', dataset], {});
      served = await serve(folder);
    });
    after(async () => {
      await served?.app.close();
      await rm(folder, { recursive: true, force: true });
    });

    it('serves the markets, leaving out gaps and missing months', async () => {
      const { data } = (await served.get('/markets')).json;
      expect(data.map(({ name }: { name: string }) => name)).to.deep.equal(['Alpha, TX', 'Beta-Gamma, TX-OK (MSAD)']);
      expect((await served.get('/markets/11111/history')).json.data).to.have.length(116);
      expect((await served.get('/markets/22222/history')).json.data).to.have.length(115);
      expect((await served.get('/observations?series_id=UNRATE')).json.data).to.have.length(2);
    });

    it('serves the forecasts and their backtest', async () => {
      expect((await served.get('/forecast-runs')).json.data).to.have.length(12);
      expect((await served.get('/signals')).json.data).to.have.length(2);
      expect((await served.get('/forecast-backtest')).json.data.n_metros).to.equal(2);
    });
  });
});

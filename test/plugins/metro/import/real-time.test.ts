import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openDirectory } from '../../../../core/data/directory.js';
import { checkDataset } from '../../../../core/data/validate.js';
import { collections, type ForecastRun } from '../../../../plugins/metro/collections.js';
import { defaultRules } from '../../../../plugins/metro/forecast/default-rules.js';
import { forecastDirectory } from '../../../../plugins/metro/forecast/forecast-directory.js';
import { defaultForecastOptions } from '../../../../plugins/metro/forecast/model.js';
import { pooledMomentum } from '../../../../plugins/metro/forecast/models/pooled-momentum.js';
import { isOf } from '../../../../plugins/metro/forecast/runs.js';
import { importInto } from '../../../../plugins/metro/import/import.js';
import { parseQuarter, quarterIndex } from '../../../../plugins/metro/periods.js';
import { needSharedData } from '../../../support/shared-data.js';
import { madeUpPanel } from '../forecast/panels.js';

const declared = new Map(collections.map((one) => [one.name, one]));
const input = { model: pooledMomentum, options: defaultForecastOptions, rules: defaultRules, span: { last: 8 } };

const fileUpTo = (name: string): string => {
  const { markets, quarters } = madeUpPanel();
  const first = quarterIndex(2025, 2) - quarters.length + 1;
  const last = parseQuarter(name) as number;
  const lines = markets.flatMap((market, at) =>
    quarters.slice(0, last - first + 1).map((levels, i) => {
      const [level, quarter] = [levels[at] as number, first + i];
      const value = Number.isNaN(level) ? '-' : level.toFixed(2);
      return `"${market.name}",${market.cbsa},${Math.floor(quarter / 4)},${(quarter % 4) + 1},${value},-`;
    }),
  );
  return `${lines.join('\r\n')}\r\n`;
};

describe('the record of runs', function () {
  this.timeout(60_000);
  let folder: string;
  let to: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'real-time-'));
    to = join(folder, 'data');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const update = async (source: string, time: string, created?: string): Promise<ForecastRun[]> => {
    const clock = { time: new Date(time), ...(created !== undefined && { created: new Date(created) }) };
    await importInto({ sources: [source], to, ...clock });
    await forecastDirectory(to, { ...input, ...clock });
    const { dataset } = await openDirectory(to);
    expect((await checkDataset(dataset, declared)).kept).to.deep.equal([]);
    const runs: ForecastRun[] = [];
    for await (const batch of dataset.read('forecast_runs')) runs.push(...(batch as unknown as ForecastRun[]));
    return runs;
  };
  const put = async (name: string): Promise<string> => {
    const path = join(folder, `${name}.csv`);
    await writeFile(path, fileUpTo(name));
    return path;
  };
  const published = (runs: readonly ForecastRun[], horizon = 12) =>
    runs.filter((run) => run.basis === 'published' && isOf(horizon)(run));

  it('has four published runs after a year of imports, each made between two releases', async () => {
    const dates = [
      ['2024Q3', '2024-11-26', '2024-11-27T14:00:00Z'],
      ['2024Q4', '2025-02-25', '2025-03-10T14:00:00Z'],
      ['2025Q1', '2025-05-27', '2025-08-25T23:00:00Z'],
      ['2025Q2', '2025-08-26', '2025-08-26T14:00:00Z'],
    ] as const;
    let runs: ForecastRun[] = [];
    for (const [quarter, , time] of dates) runs = await update(await put(quarter), time);
    expect(published(runs).map(({ id }) => id)).to.deep.equal([20243, 20244, 20251, 20252]);
    for (const [at, { vintage, data_through, computed_at, published_at }] of published(runs).entries()) {
      const [quarter, released, time] = dates[at]!;
      const month = `0${3 * Number(quarter.at(-1)) - 2}`.slice(-2);
      const computed = time.replace('.000Z', 'Z');
      expect({ vintage, data_through, computed_at, published_at }).to.deep.equal({
        vintage: released,
        data_through: `${quarter.slice(0, 4)}-${month}-01`,
        computed_at: computed,
        published_at: computed,
      });
    }
    for (const horizon of [3, 6, 24]) expect(published(runs, horizon)).to.have.length(4);
    expect(runs.filter(({ basis }) => basis === 'reconstructed')).to.have.length(4);
  });

  it('has no published run from a file that is imported after the next release, even with an earlier `created`', async () => {
    const runs = await update(await put('2024Q3'), '2026-11-26T12:00:00Z');
    expect(published(runs)).to.deep.equal([]);
    expect(runs.findLast(isOf())).to.include({ id: 20243, vintage: '2024-11-26', computed_at: '2026-11-26T12:00:00Z' });
    expect(runs.findLast(isOf())?.notes).to.include('Reconstructed, since FHFA released 2024Q4 on 2025-02-25');
    expect(published(await update(await put('2024Q4'), '2026-11-26T13:00:00Z'))).to.deep.equal([]);
    const backdated = await update(await put('2024Q3'), '2026-11-26T14:00:00Z', '2024-11-26T14:00:00Z');
    expect(backdated.findLast(isOf())).to.include({
      id: 20243,
      basis: 'reconstructed',
      computed_at: '2026-11-26T14:00:00Z',
    });
  });

  it("has no published run of FHFA's 2024Q3 file imported in November 2026", async function () {
    const data = needSharedData(this);
    const source = join(data, 'fhfa/hpi_at_metro_2024Q3.csv');
    expect(await readFile(source, 'latin1')).to.include(',2024,3,');
    const runs = await update(source, '2026-11-26T12:00:00Z');
    expect(runs.findLast(isOf())?.id).to.equal(20243);
    expect(published(runs)).to.deep.equal([]);
  });
});

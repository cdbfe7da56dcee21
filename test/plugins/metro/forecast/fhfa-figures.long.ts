import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { RISK_GRADES } from '../../../../plugins/metro/collections.js';
import { type Scorable, type Scores, scorable, scoresOf } from '../../../../plugins/metro/forecast/backtest.js';
import { defaultRules } from '../../../../plugins/metro/forecast/default-rules.js';
import { defaultForecastOptions, type ForecastModel } from '../../../../plugins/metro/forecast/model.js';
import { metroMomentum } from '../../../../plugins/metro/forecast/models/metro-momentum.js';
import { pooledMomentum } from '../../../../plugins/metro/forecast/models/pooled-momentum.js';
import { createPanel, macroSeries, type Panel, type SeriesValue } from '../../../../plugins/metro/forecast/panel.js';
import { makeRuns } from '../../../../plugins/metro/forecast/runs.js';
import { type Origin, walk } from '../../../../plugins/metro/forecast/walk.js';
import { readRows } from '../../../../plugins/metro/import/csv.js';
import { macroEntry, toHpi, toMarket, toObservations } from '../../../../plugins/metro/import/documents.js';
import { readFhfaMetro } from '../../../../plugins/metro/import/fhfa.js';
import { type MacroSeries, readFred } from '../../../../plugins/metro/import/fred.js';
import { ImportErrors } from '../../../../plugins/metro/import/import-errors.js';
import { quarterIndex, quarterOf } from '../../../../plugins/metro/periods.js';
import { needSharedData } from '../../../support/shared-data.js';
import { cut } from './panels.js';

const FROM = quarterIndex(2005, 4);
const TO = quarterIndex(2024, 4);
const MIN_VALUES = 40;

const readPanel = async (directory: string): Promise<Panel> => {
  const errors = new ImportErrors();
  const file = join(directory, 'fhfa', 'hpi_at_metro_2025Q4.csv');
  const areas = await readFhfaMetro(readRows(createReadStream(file), file, errors), file, errors);
  const sales = join(directory, 'macro', 'HSN1F.csv');
  const [series] = (await readFred(readRows(createReadStream(sales), sales, errors), sales, errors)) as [MacroSeries];
  errors.throwIfAny(false);
  const macro = macroSeries([macroEntry(series, '2026-02-24T14:00:00Z').series], toObservations(series));
  return createPanel(areas.map(toMarket), areas.flatMap(toHpi), macro);
};

const input = {
  options: defaultForecastOptions,
  rules: defaultRules,
  vintage: '2025-12-31',
  created: new Date('2026-02-24T14:00:00Z'),
  horizons: [12],
} as const;

const pairsOf = (panel: Panel, model: ForecastModel): Scorable[] => {
  const { runs, forecasts } = makeRuns({
    ...input,
    panel,
    model,
    span: { from: FROM, to: TO },
  });
  const place = new Map(panel.markets.map(({ cbsa }, market) => [cbsa, market]));
  const values = (cbsa: string, quarter: number) =>
    panel.quarters
      .slice(0, quarter - panel.firstQuarter + 1)
      .filter((levels) => !Number.isNaN(levels[place.get(cbsa) as number])).length;
  return scorable(runs, forecasts).filter((row) => values(row.cbsa, originOf(row)) >= MIN_VALUES);
};

const originOf = ({ target_period }: Scorable): number => quarterOf(target_period) - 4;

const years = (pairs: readonly Scorable[], from: number, to: number) =>
  pairs.filter((row) => originOf(row) >= quarterIndex(from, 1) && originOf(row) <= quarterIndex(to, 4));

const periods = [
  [2005, 2012],
  [2013, 2019],
  [2020, 2024],
] as const;

describe("models on FHFA's index of 2025Q4", function () {
  this.timeout(60_000);
  let panel: Panel;
  let metro: Scorable[];
  let pooled: Scorable[];

  before(async function () {
    panel = await readPanel(needSharedData(this));
    metro = pairsOf(panel, metroMomentum);
    pooled = pairsOf(panel, pooledMomentum);
  });

  it('pooled-momentum beats persistence by at least 11% on 31,531 forecasts of 77 origins', () => {
    const scores = scoresOf(pooled) as Scores;
    expect(scores.n).to.equal(31_531);
    expect(scores.mae_pp).to.be.at.most(3.7);
    expect(scores.benchmarks.benchmark.mae_pp).to.be.closeTo(4.18, 0.005);
    expect(scores.benchmarks.benchmark.skill_mae).to.be.at.least(0.11);
    expect(scores.interval_score_80).to.be.at.most(20);
    expect(scores.coverage_80).to.be.within(0.78, 0.84);
  });

  it('metro-momentum beats every benchmark by at least 11% on the same forecasts, with correct coverage', () => {
    const scores = scoresOf(metro) as Scores;
    expect(scores.n).to.equal(31_531);
    expect(scores.mae_pp).to.be.at.most(3.25);
    expect((scoresOf(years(metro, 2013, 2024)) as Scores).mae_pp).to.be.at.most(3.22);
    expect(scores.interval_score_80).to.be.at.most(18.1);
    expect(scores.coverage_80).to.be.within(0.78, 0.83);
    expect(scores.direction_hit_rate).to.be.at.least(0.85);
    for (const { name, skill_mae } of Object.values(scores.benchmarks)) expect(skill_mae, name).to.be.at.least(0.11);
  });

  it('both models beat persistence in each period, and metro-momentum is never worse than pooled-momentum', () => {
    for (const [from, to] of periods) {
      const [own, other] = [metro, pooled].map((pairs) => scoresOf(years(pairs, from, to)) as Scores) as [
        Scores,
        Scores,
      ];
      expect(other.benchmarks.benchmark.skill_mae, `${from} to ${to}`).to.be.greaterThan(0.05);
      expect(own.mae_pp, `${from} to ${to}`).to.be.at.most(other.mae_pp + 0.01);
    }
  });

  it('metro-momentum has no seasonality: mean points by quarter of the origin, 2015 to 2024, differ by less than 1', () => {
    const spread = (pairs: readonly Scorable[]) => {
      const means = [0, 1, 2, 3].map((quarter) => {
        const rows = years(pairs, 2015, 2024).filter((row) => originOf(row) % 4 === quarter);
        return rows.reduce((sum, { point }) => sum + point, 0) / rows.length;
      });
      return Math.max(...means) - Math.min(...means);
    };
    expect(spread(metro)).to.be.at.most(1);
    expect(spread(pooled)).to.be.above(2);
  });

  it('metro-momentum changes little with the newest month of sales, and few signals change from run to run', () => {
    const newest = (change: (values: readonly SeriesValue[]) => readonly SeriesValue[]) =>
      makeRuns({
        ...input,
        panel: { ...panel, macro: new Map([['HSN1F', change(panel.macro.get('HSN1F') ?? [])]]) },
        span: { last: 1 },
      }).forecasts;
    const base = newest((values) => values);
    const scaled = (factor: number) => (values: readonly SeriesValue[]) =>
      values.map((month, i) => (i === values.length - 1 ? { ...month, value: factor * month.value } : month));
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    for (const [name, rows, most, mostSignals] of [
      ['10% higher', newest(scaled(1.1)), 0.4, 0.08],
      ['10% lower', newest(scaled(0.9)), 0.4, 0.08],
      ['without it', newest((values) => values.slice(0, -1)), 0.7, 0.15],
    ] as const) {
      expect(Math.abs(mean(rows.map(({ point }, i) => point - (base[i]?.point as number)))), name).to.be.within(
        0.01,
        most,
      );
      expect(mean(rows.map(({ signal }, i) => Number(signal !== base[i]?.signal))), name).to.be.within(
        0.01,
        mostSignals,
      );
    }
    const { runs } = makeRuns({ ...input, panel, span: { from: FROM } });
    expect(mean(runs.map((run) => run.signal_change_share as number))).to.be.at.most(0.15);
  });

  it('probabilities of a decline have a Brier score of at most 0.192 to 2013 and 0.06 from 2014 on', () => {
    expect((scoresOf(years(metro, 2005, 2012)) as Scores).brier_score).to.be.at.most(0.192);
    expect((scoresOf(years(metro, 2013, 2024)) as Scores).brier_score).to.be.at.most(0.06);
  });

  it('realised declines of metro-momentum increase from grade A to F', () => {
    const shares = RISK_GRADES.map((grade) => {
      const rows = metro.filter(({ risk_score }) => risk_score === grade);
      return rows.filter(({ realized }) => realized < 0).length / rows.length;
    });
    expect(shares).to.deep.equal(shares.toSorted((a, b) => a - b));
    expect(shares[0]).to.be.below(0.1);
    expect(shares[4]).to.be.above(0.5);
  });

  for (const model of [metroMomentum, pooledMomentum]) {
    it(`${model.name} makes the same forecasts for every quarter from data cut at that quarter, even with gaps`, () => {
      const forecasts = [...walk(model, panel, defaultForecastOptions)];
      for (const quarter of [quarterIndex(2005, 4), quarterIndex(2011, 3), quarterIndex(2023, 2)]) {
        const seen = quarter - panel.firstQuarter + 1;
        const known = [...walk(model, cut(panel, seen), defaultForecastOptions)];
        expect(known.at(-1)).to.deep.equal(forecasts[seen - 1] as Origin);
      }
    });
  }
});

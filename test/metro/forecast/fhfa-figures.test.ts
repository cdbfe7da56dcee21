/** The baseline's accuracy on FHFA's index of 2025Q4, where the file is present. */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ScoredForecast, type Scores, scoresOf } from '../../../metro/forecast/backtest.js';
import { defaultForecastOptions } from '../../../metro/forecast/model.js';
import { persistence } from '../../../metro/forecast/models/persistence.js';
import { pooledMomentum } from '../../../metro/forecast/models/pooled-momentum.js';
import { createPanel, type Panel } from '../../../metro/forecast/panel.js';
import { type Origin, realizedChange, walk } from '../../../metro/forecast/walk.js';
import { readRows } from '../../../metro/import/csv.js';
import { toHpi, toMarket } from '../../../metro/import/documents.js';
import { Faults } from '../../../metro/import/faults.js';
import { readFhfaMetro } from '../../../metro/import/fhfa.js';
import { quarterIndex } from '../../../metro/periods.js';
import { needSharedData } from '../../support/shared-data.js';
import { cut } from './panels.js';

const FROM = quarterIndex(2005, 4);
const TO = quarterIndex(2024, 4);
const MIN_VALUES = 40;

const readPanel = async (file: string): Promise<Panel> => {
  const faults = new Faults();
  const areas = await readFhfaMetro(readRows(createReadStream(file), file, faults), file, faults);
  faults.throwIfAny(false);
  return createPanel(areas.map(toMarket), areas.flatMap(toHpi));
};

/** The pairs of markets and origins with enough values and a published outcome, by the year of the origin. */
const pairsOf = (panel: Panel, forecasts: readonly Origin[], naive: readonly Origin[]) => {
  const values = new Int32Array(panel.markets.length);
  const pairs: (ScoredForecast & { readonly year: number })[] = [];
  forecasts.forEach(({ quarter, point, lower, upper }, index) => {
    panel.quarters[index]?.forEach((level, market) => {
      if (!Number.isNaN(level)) values[market] = (values[market] as number) + 1;
      const pair = {
        year: Math.floor(quarter / 4),
        point: point[market] as number,
        lower_80: lower[market] as number,
        upper_80: upper[market] as number,
        realized: realizedChange(panel, quarter, market),
        benchmark: naive[index]?.point[market] as number,
      };
      const scored = quarter >= FROM && quarter <= TO && (values[market] as number) >= MIN_VALUES;
      if (scored && !Object.values(pair).some(Number.isNaN)) pairs.push(pair);
    });
  });
  return pairs;
};

describe("pooled-momentum on FHFA's index", () => {
  let panel: Panel;
  let forecasts: Origin[];
  let pairs: ReturnType<typeof pairsOf>;

  before(async function () {
    panel = await readPanel(join(needSharedData(this), 'fhfa', 'hpi_at_metro_2025Q4.csv'));
    forecasts = [...walk(pooledMomentum, panel, defaultForecastOptions)];
    pairs = pairsOf(panel, forecasts, [...walk(persistence, panel, defaultForecastOptions)]);
  });

  it('scores 31,531 pairs of 77 origins, better than persistence by 11% and more, with bounds that hold', () => {
    const scores = scoresOf(pairs) as Scores;
    expect(scores.n).to.equal(31_531);
    expect(scores.mae_pp).to.be.at.most(3.7);
    expect(scores.benchmark_mae_pp).to.be.closeTo(4.18, 0.005);
    expect(scores.skill_mae).to.be.at.least(0.11);
    expect(scores.interval_score_80).to.be.at.most(20);
    expect(scores.coverage_80).to.be.within(0.78, 0.84);
  });

  it('beats persistence in each period', () => {
    const periods = [
      [0, 2012],
      [2013, 2019],
      [2020, 9999],
    ] as const;
    for (const [from, to] of periods) {
      const scores = scoresOf(pairs.filter(({ year }) => year >= from && year <= to)) as Scores;
      expect(scores.skill_mae, `${from} to ${to}`).to.be.greaterThan(0.05);
    }
  });

  it('says the same of every quarter when the data is cut there, gaps that close later included', () => {
    for (const quarter of [quarterIndex(2005, 4), quarterIndex(2011, 3), quarterIndex(2023, 2)]) {
      const seen = quarter - panel.firstQuarter + 1;
      const known = [...walk(pooledMomentum, cut(panel, seen), defaultForecastOptions)];
      expect(known.at(-1)).to.deep.equal(forecasts[seen - 1]);
    }
  });
});

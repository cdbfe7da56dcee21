import { periodEnd, quarterStart } from '../periods.js';
import {
  type ForecastModel,
  type ForecastOptions,
  HORIZON_MONTHS,
  type QuarterForecasts,
  quartersOf,
} from './model.js';
import { type MacroSeriesValues, type Panel, percentChange } from './panel.js';

export interface Origin extends QuarterForecasts {
  readonly quarter: number;
}

export const macroKnownAt = (panel: Panel, ids: readonly string[], quarter: number): MacroSeriesValues => {
  const last = periodEnd(quarterStart(quarter), 'quarterly');
  return new Map(ids.map((id) => [id, (panel.macro.get(id) ?? []).filter(({ end }) => end <= last)]));
};

export function* walk(model: ForecastModel, panel: Panel, options: ForecastOptions): Generator<Origin> {
  const forecaster = model.start(panel.markets, options);
  for (const [index, levels] of panel.quarters.entries()) {
    const quarter = panel.firstQuarter + index;
    yield { quarter, ...forecaster.next(levels, { quarter, macro: macroKnownAt(panel, model.series, quarter) }) };
  }
}

/** Returns the actual change in percent, or `NaN` if it is not published yet. */
export const realizedChange = (panel: Panel, quarter: number, market: number, horizon = HORIZON_MONTHS): number => {
  const index = quarter - panel.firstQuarter;
  return percentChange(panel.quarters[index]?.[market], panel.quarters[index + quartersOf(horizon)]?.[market]);
};

/** The index of all markets as one table, quarter by quarter: what models are walked over. */
import { OperatorError } from '../../core/errors.js';
import type { Hpi, Market } from '../collections.js';
import { quarterOf, quarterStart } from '../periods.js';

/** What a model knows of a market beside its index. */
export interface PanelMarket {
  readonly cbsa: string;
  readonly name: string;
  /** Postal code of the first state after the name's comma; '' where there is none, a group of its own. */
  readonly state: string;
}

export interface Panel {
  readonly markets: readonly PanelMarket[];
  /** Index of the first quarter with a value, as counted by `quarterIndex`. */
  readonly firstQuarter: number;
  /** One array per quarter without a break, one index level per market; `NaN` where there is none. */
  readonly quarters: readonly Float64Array[];
}

/** The state of a metro's name: `GA` of "Atlanta-Sandy Springs, GA-AL". */
export const stateOf = (name: string): string => /, ([A-Z]{2})\b/.exec(name)?.[1] ?? '';

/**
 * Arranges the rows of a dataset as a panel. Markets without rows keep their place.
 * @throws OperatorError naming each row that is not a positive value on a quarter's first day
 */
export const createPanel = (markets: readonly Pick<Market, 'cbsa' | 'name'>[], rows: readonly Hpi[]): Panel => {
  const place = new Map(markets.map(({ cbsa }, index) => [cbsa, index]));
  const faults: string[] = [];
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { cbsa, period_start, value } of rows) {
    const quarter = quarterOf(period_start);
    if (!place.has(cbsa)) faults.push(`${cbsa} ${period_start}: no market has this code`);
    else if (quarterStart(quarter) !== period_start)
      faults.push(`${cbsa} ${period_start}: not the first day of a quarter`);
    else if (!(value > 0)) faults.push(`${cbsa} ${period_start}: an index level must be above 0, and this is ${value}`);
    first = Math.min(first, quarter);
    last = Math.max(last, quarter);
  }
  if (faults.length > 0) throw new OperatorError('The index cannot be forecast from:', faults);

  const count = rows.length === 0 ? 0 : last - first + 1;
  const quarters = Array.from({ length: count }, () => new Float64Array(markets.length).fill(Number.NaN));
  for (const { cbsa, period_start, value } of rows) {
    (quarters[quarterOf(period_start) - first] as Float64Array)[place.get(cbsa) as number] = value;
  }
  return {
    markets: markets.map(({ cbsa, name }) => ({ cbsa, name, state: stateOf(name) })),
    firstQuarter: first,
    quarters,
  };
};

/** The published change of the index between two quarters, in percent; `NaN` where either has no value. */
export const percentChange = (from: number | undefined, to: number | undefined): number =>
  100 * ((to ?? Number.NaN) / (from ?? Number.NaN) - 1);

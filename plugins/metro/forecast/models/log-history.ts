/**
 * Logarithms of each index by quarter. Missing quarters between two values are interpolated. Quarters before the first
 * and after the last value stay missing.
 */

export const toPercent = (growth: number): number => 100 * Math.expm1(growth / 100);

export interface LogHistory {
  readonly length: number;
  /** Number of values per market so far, without interpolated values. */
  readonly counts: Int32Array;
  push(levels: Float64Array): void;
  /** Returns 100 times the log of each index, or `NaN` if it is missing. */
  at(quarter: number): Float64Array;
  /** Returns log growth in percent, or `NaN` if it is unknown. */
  growth(quarters: number): Float64Array;
}

export const createLogHistory = (markets: number): LogHistory => {
  const logs: Float64Array[] = [];
  const counts = new Int32Array(markets);
  const newestQuarter = new Int32Array(markets).fill(-1);

  const closeGap = (market: number, from: number, to: number): void => {
    const start = at(from)[market]!;
    const slope = (at(to)[market]! - start) / (to - from);
    for (let quarter = from + 1; quarter < to; quarter++) at(quarter)[market] = start + slope * (quarter - from);
  };
  const at = (quarter: number): Float64Array => logs[quarter]!;

  return {
    counts,
    at,
    get length() {
      return logs.length;
    },
    growth(quarters) {
      const now = logs.length - 1;
      const current = at(now);
      if (now < quarters) return current.map(() => Number.NaN);
      const before = at(now - quarters);
      return current.map((log, market) => log - before[market]!);
    },
    push(levels) {
      const now = logs.push(levels.map((level) => 100 * Math.log(level))) - 1;
      for (let market = 0; market < markets; market++) {
        if (Number.isNaN(levels[market])) continue;
        const before = newestQuarter[market]!;
        if (before >= 0 && before < now - 1) closeGap(market, before, now);
        newestQuarter[market] = now;
        counts[market]! += 1;
      }
    },
  };
};

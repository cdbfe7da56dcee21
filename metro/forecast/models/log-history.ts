/** The index in logs as models read it: gaps inside a series are closed, its ends are not extended. */

export interface LogHistory {
  /** Quarters seen so far. */
  readonly length: number;
  /** Values seen so far, by market; interpolated ones do not count. */
  readonly values: Int32Array;
  /** Takes the next quarter. A value after a gap fills the gap in, linearly in logs. */
  push(levels: Float64Array): void;
  /** 100 x the log of the index, by market, at the quarter of this number; `NaN` outside a market's series. */
  at(quarter: number): Float64Array;
}

export const createLogHistory = (markets: number): LogHistory => {
  const logs: Float64Array[] = [];
  const values = new Int32Array(markets);
  const newest = new Int32Array(markets).fill(-1);

  const closeGap = (market: number, from: number, to: number): void => {
    const start = at(from)[market] as number;
    const slope = ((at(to)[market] as number) - start) / (to - from);
    for (let quarter = from + 1; quarter < to; quarter++) at(quarter)[market] = start + slope * (quarter - from);
  };
  const at = (quarter: number): Float64Array => logs[quarter] as Float64Array;

  return {
    values,
    at,
    get length() {
      return logs.length;
    },
    push(levels) {
      const now = logs.push(levels.map((level) => 100 * Math.log(level))) - 1;
      for (let market = 0; market < markets; market++) {
        if (Number.isNaN(levels[market])) continue;
        const before = newest[market] as number;
        if (before >= 0 && before < now - 1) closeGap(market, before, now);
        newest[market] = now;
        values[market] = (values[market] as number) + 1;
      }
    },
  };
};

/** Stored percentages have four decimals. */
const DECIMALS = 1e4;

/** Rounds half up, and never returns -0. Rounding preserves order, for example of the bounds of an interval. */
export const rounded = (value: number): number => Math.round(value * DECIMALS) / DECIMALS + 0;

/** Percentages are stored with four decimals. */
const DECIMALS = 1e4;

/** Rounds half up, and never to -0. Rounding keeps the order of numbers, for example of the bounds of an interval. */
export const rounded = (value: number): number => Math.round(value * DECIMALS) / DECIMALS + 0;

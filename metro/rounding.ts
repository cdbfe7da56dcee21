/** Percentages are stored with this many decimals: far below their error, and short to send. */
const DECIMALS = 1e4;

/** Rounds half up; never answers -0. Keeps the order of numbers, and so of interval bounds. */
export const rounded = (value: number): number => Math.round(value * DECIMALS) / DECIMALS + 0;

/** Percentages are stored with this many decimals: far below their error, and short to send. */
const DECIMALS = 1e4;

/** Rounds half up, and never to -0. The order of numbers stays, and so does that of interval bounds. */
export const rounded = (value: number): number => Math.round(value * DECIMALS) / DECIMALS + 0;

/** Values are rounded to four decimals, the precision of stored percentages. */
const DECIMALS = 1e4;

/**
 * Rounds half up and never returns -0. Rounded values keep their order, so a lower bound stays below an upper bound.
 */
export const rounded = (value: number): number => Math.round(value * DECIMALS) / DECIMALS + 0;

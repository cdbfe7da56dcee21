const DECIMALS = 1e4;

/** Rounds half up and never returns -0. Rounding preserves order, so a lower bound never exceeds an upper bound. */
export const rounded = (value: number): number => Math.round(value * DECIMALS) / DECIMALS + 0;

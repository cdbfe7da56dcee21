/** Quarters as people write them: `2005Q4`. Their indexes are those of `quarterIndex`. */
import { quarterIndex } from '../periods.js';

export const quarterName = (index: number): string => `${Math.floor(index / 4)}Q${(index % 4) + 1}`;

/** The index of a quarter written `2005Q4`, or undefined. */
export const parseQuarter = (text: string): number | undefined => {
  const [, year, quarter] = /^(\d{4})Q([1-4])$/i.exec(text) ?? [];
  return year && quarter ? quarterIndex(Number(year), Number(quarter)) : undefined;
};

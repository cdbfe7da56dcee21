/** Formats counts for messages. */
const format = new Intl.NumberFormat('en-US');
/** A number with its noun: `1 row`, `2,000 rows`. */
export const counted = (count: number, noun: string): string =>
  `${format.format(count)} ${noun}${count === 1 ? '' : 's'}`;

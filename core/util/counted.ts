const format = new Intl.NumberFormat('en-US');
/** Returns text such as `1 row` or `2,000 rows`. */
export const counted = (count: number, noun: string): string =>
  `${format.format(count)} ${noun}${count === 1 ? '' : 's'}`;

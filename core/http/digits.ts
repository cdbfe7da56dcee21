/** Numbers that are different in each response, as text. */

const LAST_THREE = Array.from({ length: 1000 }, (_, i) => String(i).padStart(3, '0'));

/**
 * A whole number. V8 would make a text for it and keep thousands of those for when they are asked for again: most of
 * what is alive when the young generation is collected, and half of the time that this takes.
 */
export const digits = (count: number): string =>
  count < 1000 ? String(count) : `${Math.floor(count / 1000)}${LAST_THREE[count % 1000]}`;

/** A number that is not negative, with three decimals; V8's own text of a fraction takes four times as long. */
export const threeDecimals = (value: number): string => {
  const thousandths = Math.round(value * 1000);
  return `${digits(Math.floor(thousandths / 1000))}.${LAST_THREE[thousandths % 1000]}`;
};

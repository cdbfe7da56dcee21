const DASH = '–';

/** @param {number} value @param {Intl.NumberFormatOptions} options */
const localized = (value, options) => value.toLocaleString('en-US', options).replaceAll('-', '−');

/** @param {number | null | undefined} value */
export const number = (value, digits = 2) =>
  value === null || value === undefined
    ? DASH
    : localized(value, { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace(/^−(?=[0.]+$)/, '');

/** A double keeps every decimal number of at most 15 significant digits. Further digits are rounding errors. */
const DIGITS = 15;

/** Smaller numbers are shown in scientific notation. */
const SMALLEST = 1e-9;

/**
 * Formats a number with at most `decimals` decimals, or with more if fewer than `digits` significant digits would
 * remain.
 * @param {number | null | undefined} value
 */
export const rounded = (value, decimals = 2, digits = decimals + 1) =>
  value === null || value === undefined
    ? DASH
    : localized(value, {
        maximumFractionDigits: decimals,
        maximumSignificantDigits: digits,
        roundingPriority: 'morePrecision',
        notation: value !== 0 && Math.abs(value) < SMALLEST ? 'scientific' : 'standard',
      });

/** @param {number | null | undefined} value */
export const exact = (value) => rounded(value, 0, DIGITS);

/** Returns the number of decimals of the value with the most decimals. @param {readonly unknown[]} values */
export const decimalsOf = (values) =>
  values.reduce((/** @type {number} */ longest, value) => {
    if (typeof value !== 'number' || Number.isInteger(value)) return longest;
    const [digits = '', exponent] = Number(value.toPrecision(DIGITS)).toExponential().split('e');
    return Math.max(longest, digits.replace(/^-?\d\.?/, '').length - Number(exponent));
  }, 0);

/** @param {number | null | undefined} value in percent @param {number} [decimals] */
export const percent = (value, decimals) => (typeof value === 'number' ? `${signed(value, decimals)}%` : DASH);

/** @param {number | null | undefined} value in percentage points @param {number} [decimals] */
export const points = (value, decimals) => (typeof value === 'number' ? `${signed(value, decimals)} pp` : DASH);

/** @param {number} value @param {number} [decimals] */
const signed = (value, decimals) => `${value > 0 ? '+' : ''}${number(value, decimals)}`;

/** @param {number} value from 0 to 1 */
export const share = (value) => `${number(value * 100, 1)}%`;

/** Returns text such as "1 row" or "1,200 rows". @param {number} count @param {string} noun */
export const counted = (count, noun) => `${exact(count)} ${noun}${count === 1 ? '' : 's'}`;

/** Returns -1, 0 or 1. A number that is shown as 0.0 has the direction 0. @param {number} value */
export const direction = (value) => Math.sign(Number(value.toFixed(1)));

/**
 * Returns text such as "rose 8.7%".
 * @param {number} value in percent @param {readonly [fall: string, none: string, rise: string]} verbs
 */
export const moveOf = (value, [fall, none, rise]) =>
  direction(value) === 0 ? none : `${value < 0 ? fall : rise} ${number(Math.abs(value), 1)}%`;

export const PAST_MOVES = /** @type {const} */ (['fell', 'did not change', 'rose']);

/** @param {readonly string[]} words */
export const list = (words) => new Intl.ListFormat('en').format(words);

/** Removes accents and converts to lower case, so that a search for `canon` finds `Cañon`. @param {string} text */
export const plain = (text) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** @param {string} date */
export const quarter = (date) => `${date.slice(0, 4)} Q${Math.ceil(Number(date.slice(5, 7)) / 3)}`;

/** @param {string | null} date first day of the period, in UTC @param {string} cadence */
export const period = (date, cadence) => {
  if (date === null) return DASH;
  const [year, month] = [date.slice(0, 4), date.slice(5, 7)];
  if (cadence === 'quarterly') return quarter(date);
  if (cadence === 'semiannual') return `${year} H${Number(month) < 7 ? 1 : 2}`;
  return cadence === 'monthly' ? `${year}-${month}` : /^(annual|five-year)$/.test(cadence) ? year : day(date);
};

/**
 * Returns a period for a sentence, such as "November 2025" or "30 December 2025".
 * @param {string} date first day of the period, in UTC @param {string} cadence
 */
export const periodInWords = (date, cadence) => {
  const short = period(date, cadence);
  const parts = short.split('-').length;
  if (parts === 1) return short;
  const day = parts === 3 ? { day: /** @type {const} */ ('numeric') } : {};
  return new Date(date).toLocaleDateString('en-GB', { ...day, month: 'long', year: 'numeric', timeZone: 'UTC' });
};

/** @param {string | null} time */
export const day = (time) => (time === null ? DASH : time.slice(0, 10));

/** @param {number} size */
export const bytes = (size) => {
  if (size < 1000) return `${size} B`;
  return size < 1e6 ? `${number(size / 1e3, size < 1e5 ? 1 : 0)} kB` : `${number(size / 1e6, 1)} MB`;
};

/** @param {number | null} seconds */
export const span = (seconds) => {
  if (seconds === null) return DASH;
  const days = Math.floor(seconds / 86_400);
  if (days >= 2) return `${days} days`;
  const hours = Math.floor(seconds / 3600);
  return hours >= 2 ? `${hours} hours` : `${Math.floor(seconds / 60)} minutes`;
};

import type { JsonSchema } from '../../contracts/json-schema.js';

export const COLUMN_TYPES = ['text', 'integer', 'number', 'date', 'datetime', 'boolean'] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

export const SCHEMAS: Readonly<Record<ColumnType, JsonSchema>> = {
  text: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  date: { type: 'string', format: 'date' },
  datetime: { type: 'string', format: 'date-time' },
  boolean: { type: 'boolean' },
};

/** Completes the sentence "must be ...". */
export const NEEDS: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  integer: 'a whole number',
  number: 'a number like 12.5',
  date: 'a calendar date like 2025-12-31',
  datetime: 'a time with a time zone like 2025-12-31T12:00:00Z',
  boolean: 'true or false',
};

export interface Notation {
  readonly type: ColumnType;
  read(cell: string): string | number | boolean | undefined;
  readonly note?: string;
  readonly unit?: string;
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const INTEGER = /^[+-]?\d+$/;

interface Marked {
  readonly pattern: RegExp;
  readonly plain: (cell: string) => string;
}

/** The notation of numbers such as 1,234.5, and of Indian numbers such as 12,34,567. */
const GROUPED: Marked = {
  pattern: /^[+-]?(\d{1,3}|[1-9]\d{0,2}(,\d{3})+|[1-9]\d?(,\d\d)+,\d{3})(\.\d+)?$/,
  plain: (cell) => cell.replaceAll(',', ''),
};
/** The notation of numbers such as 1.234,5. */
const DECIMAL_COMMA: Marked = {
  pattern: /^[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d+)?([eE][+-]?\d+)?$/,
  plain: (cell) => cell.replaceAll('.', '').replace(',', '.'),
};
const PERCENT: Marked = {
  pattern: /^[+-]?(\d+\.?\d*|\.\d+) ?%$/,
  plain: (cell) => cell.replace(/ ?%/, ''),
};
/** The notation of percentages such as 12,5 %. */
const PERCENT_COMMA: Marked = {
  pattern: /^[+-]?\d+(,\d+)? ?%$/,
  plain: (cell) => cell.replace(/ ?%/, '').replace(',', '.'),
};
const ALL_MARKED = [GROUPED, DECIMAL_COMMA, PERCENT, PERCENT_COMMA];

export const plainNumber = (cell: string): string | undefined =>
  NUMBER.test(cell) ? cell : ALL_MARKED.find(({ pattern }) => pattern.test(cell))?.plain(cell);

const read =
  (pattern: RegExp, plain: Marked['plain'] = (cell) => cell) =>
  (cell: string) => {
    if (!pattern.test(cell)) return undefined;
    const value = Number(plain(cell));
    return Number.isFinite(value) ? value : undefined;
  };

const readMarked = ({ pattern, plain }: Marked) => read(pattern, plain);

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

const two = (digits: string): string => digits.padStart(2, '0');

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const DASH = 0x2d;
const ISO_LENGTH = 10;
const ISO_DIGITS = [0, 1, 2, 3, 5, 6, 8, 9];
const digitsAt = (text: string, at: number): number => 10 * text.charCodeAt(at) + text.charCodeAt(at + 1) - 11 * 0x30;

/** Checks an ISO date without regular expressions and substrings, which would take five times as long. */
export const isIsoDay = (text: string, start: number, end: number): boolean => {
  if (end - start !== ISO_LENGTH || text.charCodeAt(start + 4) !== DASH || text.charCodeAt(start + 7) !== DASH)
    return false;
  for (const offset of ISO_DIGITS) if (!isDigit(text.charCodeAt(start + offset))) return false;
  const [month, date] = [digitsAt(text, start + 5), digitsAt(text, start + 8)];
  const isLongFebruary = month === 2 && isLeap(100 * digitsAt(text, start) + digitsAt(text, start + 2));
  return date >= 1 && date <= (isLongFebruary ? 29 : (DAYS[month - 1] ?? 0));
};

const isoDay = (cell: string): string | undefined => (isIsoDay(cell, 0, cell.length) ? cell : undefined);

const YEAR_FIRST = /^(\d{4})([/.])(\d{1,2})\2(\d{1,2})$/;
const YEAR_LAST = /^(\d{1,2})([/.-])(\d{1,2})\2(\d{4})$/;
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d(?:\.\d+)?)?(?:([Zz]| ?UTC)|([+-](?:[01]\d|2[0-3])):?([0-5]\d)?)$/;

const dayIn = (pattern: RegExp, year: number, month: number, date: number) => (cell: string) => {
  const found = pattern.exec(cell);
  return found ? isoDay(`${found[year]}-${two(found[month]!)}-${two(found[date]!)}`) : undefined;
};

const dateTime = (cell: string): string | undefined => {
  const [, date, time, seconds = ':00', utc, hours, minutes = '00'] = DATE_TIME.exec(cell) ?? [];
  if (date === undefined || isoDay(date) === undefined) return undefined;
  return `${date}T${time}${seconds}${utc === undefined ? `${hours}:${minutes}` : 'Z'}`;
};

const TRUE = /^(true|t|yes|y|1)$/i;
const FALSE = /^(false|f|no|n|0)$/i;

export const NOTATIONS = {
  integer: { type: 'integer', read: read(INTEGER) },
  /** pandas writes integers such as 1950.0 if the column has missing values. */
  whole: { type: 'integer', read: read(/^[+-]?\d+\.0$/), note: 'read without ".0"' },
  mixedWhole: { type: 'integer', read: read(/^[+-]?\d+(\.0*)?$/), note: 'read without decimals' },
  number: { type: 'number', read: read(NUMBER) },
  grouped: { type: 'number', read: readMarked(GROUPED), note: 'read without thousands separators' },
  decimalComma: { type: 'number', read: readMarked(DECIMAL_COMMA), note: 'read with decimal commas' },
  percent: { type: 'number', read: readMarked(PERCENT), note: 'in percent, read without the sign', unit: 'percent' },
  percentComma: {
    type: 'number',
    read: readMarked(PERCENT_COMMA),
    note: 'in percent, read with decimal commas',
    unit: 'percent',
  },
  boolean: { type: 'boolean', read: (cell) => (/^(true|false)$/i.test(cell) ? /^t/i.test(cell) : undefined) },
  /** Accepts yes, no, 1, 0 and similar words. Tried only if the user has set the type of the column. */
  words: {
    type: 'boolean',
    read: (cell) => (TRUE.test(cell) ? true : FALSE.test(cell) ? false : undefined),
  },
  iso: { type: 'date', read: isoDay },
  ymd: {
    type: 'date',
    read: dayIn(YEAR_FIRST, 1, 3, 4),
    note: 'written as YYYY-MM-DD',
  },
  dmy: {
    type: 'date',
    read: dayIn(YEAR_LAST, 4, 3, 1),
    note: 'read as day, month, year and written as YYYY-MM-DD',
  },
  mdy: {
    type: 'date',
    read: dayIn(YEAR_LAST, 4, 1, 3),
    note: 'read as month, day, year and written as YYYY-MM-DD',
  },
  datetime: { type: 'datetime', read: dateTime },
  text: { type: 'text', read: (cell) => cell },
} as const satisfies Record<string, Notation>;

export type NotationName = keyof typeof NOTATIONS;

export const PLAIN: readonly NotationName[] = ['integer', 'number'];
export const NUMERIC: readonly NotationName[] = [...PLAIN, 'grouped', 'decimalComma'];
/** If several number formats fit all cells of a column, the first one is chosen. */
export const GUESSES: readonly NotationName[] = [
  'integer',
  'whole',
  ...NUMERIC.slice(1),
  'percent',
  'percentComma',
  'boolean',
  'iso',
  'ymd',
  'dmy',
  'mdy',
  'datetime',
];
export const IF_GIVEN: readonly NotationName[] = ['mixedWhole', 'words'];
export const IN_STRINGS: readonly NotationName[] = ['iso', 'datetime'];

export const NOT_NUMERIC: readonly ColumnType[] = ['date', 'datetime', 'boolean'];

export const fitsTyped = (cell: number | boolean): ((name: NotationName) => boolean) => {
  const fitting = typeof cell === 'boolean' ? ['boolean'] : Number.isSafeInteger(cell) ? PLAIN : ['number'];
  return (name) => fitting.includes(name);
};

/** True if the character might be white space. Text that starts with any other character is not blank. */
export const mayBeBlank = (code: number): boolean =>
  code <= 0x20 || code === 0xa0 || (code >= 0x1680 && code <= 0x3000) || code === 0xfeff;

/** Markers for missing values, in lower case. In text columns, these markers are ordinary text. */
const MARKERS = new Set(
  [
    '|na|n/a|n.a.|<na>|nan|null|(null)|none|\\n|?|-|--|\u2012|\u2013|\u2014|\u2212|.|..|...|\u2026|:',
    '#n/a|#div/0!|#ref!|#value!|#name?|#null!|#num!',
  ].flatMap((markers) => markers.split('|')),
);
const LONGEST_MARKER = 7;

export const isMarker = (cell: string): boolean => cell.length <= LONGEST_MARKER && MARKERS.has(cell.toLowerCase());

const significant = (text: string): string =>
  text
    .replace(/[eE].*$/, '')
    .replaceAll(/[^\d]/g, '')
    .replace(/^0+/, '')
    .replace(/0+$/, '');

/** A double can represent every number with at most this many significant digits. */
const SAFE_DIGITS = 15;

/** Explains why a number cannot be converted to a JSON number without loss. Returns undefined if it can. */
export const lossOf = (cell: string): string | undefined => {
  if (/^[+-]?0\d/.test(cell)) return 'its leading zeros would be lost';
  if (/^\+\d{7}/.test(cell)) return 'its plus sign would be lost';
  if (cell.length <= SAFE_DIGITS && !/[eE]/.test(cell)) return undefined;
  const value = Number(cell);
  return significant(cell) === significant(String(value)) && (!INTEGER.test(cell) || Number.isSafeInteger(value))
    ? undefined
    : 'a number would lose digits';
};

/**
 * Returns the number of digits before the decimal point, as a negative number if there are decimals. Returns 0 if the
 * text between the offsets is not a plain number.
 */
export const plainDigits = (text: string, from = 0, end = text.length): number => {
  if (end - from > SAFE_DIGITS) return 0;
  const start = from < end && text.charCodeAt(from) === DASH ? from + 1 : from;
  let at = start;
  while (at < end && isDigit(text.charCodeAt(at))) at++;
  const digits = at - start;
  if (digits === 0 || (digits > 1 && text.charCodeAt(start) === 0x30)) return 0;
  if (at === end) return digits;
  if (text.charCodeAt(at) !== 0x2e || at === end - 1) return 0;
  for (at++; at < end; at++) if (!isDigit(text.charCodeAt(at))) return 0;
  return -digits;
};

/** Numbers with currency signs, brackets for negative values, spaces between thousands, or a typographic minus sign. */

interface MarkedNumber {
  /** The number without marks, such as -1234,5. Its decimal separator is unchanged. */
  readonly number: string;
  /** A currency sign, or an empty string. */
  readonly currency: string;
  readonly isBracketed: boolean;
  /** The thousands separator, or an empty string. */
  readonly separator: string;
}

const UNMARKED = /^[\w.,+%-]*$/;
/**
 * Matches, in this order: a bracket, a sign, a currency such as $ or R$, a sign, digits, a percent sign, a currency and
 * a bracket. Only the digits are required.
 */
const MARKED = /^(\()?([+\-\u2212])?\s?([A-Z]{0,3}\p{Sc})?\s?([+\-\u2212])?([\d.,'’\s]*\d)\s?(%)?\s?(\p{Sc})?(\))?$/u;
const SEPARATED = /^[1-9]\d{0,2}([\s'’])\d{3}(\1\d{3})*([.,]\d+)?$/u;

/** Returns undefined for numbers without marks, and for text that is not a number. */
const unmark = (cell: string): MarkedNumber | undefined => {
  if (UNMARKED.test(cell)) return undefined;
  const [, open, first = '', left = '', second = '', digits, percent = '', right = '', close] = MARKED.exec(cell) ?? [];
  if (digits === undefined || (open === undefined) !== (close === undefined)) return undefined;
  if ([first, second, open].filter(Boolean).length > 1 || [left, right, percent].filter(Boolean).length > 1)
    return undefined;
  const [, separator = ''] = SEPARATED.exec(digits) ?? [];
  if (separator === '' && !/^[\d.,]+$/.test(digits)) return undefined;
  const sign = open ?? (first || second);
  return {
    number: `${sign === '' || sign === '+' ? sign : '-'}${digits.replaceAll(separator, '')}${percent}`,
    currency: left || right,
    isBracketed: open !== undefined,
    separator,
  };
};

export const withoutMarks = (cell: string): string => unmark(cell)?.number ?? cell;

interface Place {
  readonly line: number;
  readonly cell: string;
}

const shown = ({ line, cell }: Place): string => `line ${line} has ${JSON.stringify(cell)}`;

/** Decides whether the marks in a column belong to numbers. Not all text that looks like a marked number is one. */
export class NumberMarks {
  readonly #currencies = new Map<string, Place>();
  #separator: string | undefined;
  #isBracketed = false;
  #first: Place | undefined;
  #without: Place | undefined;
  /**
   * True if at least one cell contains neither brackets nor ordinary spaces. In a column of codes or phone numbers, all
   * cells usually contain them.
   */
  #isCertain = false;

  /** @param before the first cell of the column, unless that cell has marks */
  constructor(before: { readonly line: number; readonly cell: unknown } | undefined) {
    if (before) this.add(String(before.cell), before.line);
  }

  add(cell: string, line: number): void {
    const { currency = '', isBracketed = false, separator = '' } = unmark(cell) ?? {};
    if (currency === '') this.#without ??= { line, cell };
    else if (!this.#currencies.has(currency)) this.#currencies.set(currency, { line, cell });
    if (separator !== '') this.#separator = separator;
    if (isBracketed || separator === ' ') this.#first ??= { line, cell };
    else this.#isCertain = true;
    this.#isBracketed ||= isBracketed;
  }

  /** The reason to doubt that the column contains numbers. Undefined if there is none. */
  get doubt(): string | undefined {
    const [first, second = this.#without] = this.#currencies.values();
    if (first && second) return `${shown(second)}, but ${shown(first)}: --type can make it a number`;
    if (!this.#first || this.#isCertain) return undefined;
    return `${shown(this.#first)}: if it is a number, use --type`;
  }

  /** The currency, if all numbers have the same. */
  get unit(): string | undefined {
    return this.#currencies.size === 1 && !this.#without ? this.#currencies.keys().next().value : undefined;
  }

  get notes(): readonly string[] {
    return [
      ...[...this.#currencies.keys()].map((currency) => `read without ${currency}`),
      ...(this.#isBracketed ? ['read with brackets as negative'] : []),
      ...(this.#separator === undefined ? [] : ['read without thousands separators']),
    ];
  }
}

/**
 * Detects columns of version numbers or codes, in which some values differ only in trailing zeros, such as 1.1 and
 * 1.10.
 */

const MAX_CELLS = 65_536;
const MAX_VALUES = 20_000;

export class TrailingZeros {
  /**
   * Maps each number, without trailing zeros, to the first cell with this number. Undefined if there are too many cells
   * to compare.
   */
  #cells: Map<string, string> | undefined = new Map();
  #count = 0;
  #decimals = -1;
  #isUniform = true;
  #hasWhole = false;
  #wholeWithZero: string | undefined;
  #fractionWithZero: string | undefined;
  #pair: string | undefined;

  add(cell: string, line: number): void {
    const point = cell.indexOf('.');
    const decimals = point === -1 ? 0 : cell.length - point - 1;
    if (this.#decimals === -1) this.#decimals = decimals;
    else if (decimals !== this.#decimals) this.#isUniform = false;
    const endsInZero = point !== -1 && cell.endsWith('0');
    if (point === -1) this.#hasWhole = true;
    else if (endsInZero && decimals === 1) this.#wholeWithZero ??= `"${cell}" in line ${line}`;
    else if (endsInZero) this.#fractionWithZero ??= `"${cell}" in line ${line}`;
    if (this.#cells) this.#compare(this.#cells, cell, endsInZero ? cell.replace(/\.?0+$/, '') : cell, line);
  }

  /** True if adding a cell with this number of decimals would change nothing. */
  isKnown(decimals: number, endsInZero: boolean): boolean {
    if (this.#cells || (this.#isUniform && decimals !== this.#decimals)) return false;
    if (decimals === 0) return this.#hasWhole;
    return !endsInZero || (decimals === 1 ? this.#wholeWithZero : this.#fractionWithZero) !== undefined;
  }

  #compare(cells: Map<string, string>, cell: string, value: string, line: number): void {
    const other = cells.get(value);
    if (other === undefined) cells.set(value, cell);
    else if (other !== cell) this.#pair ??= `line ${line} has "${cell}" where another line has "${other}"`;
    if (++this.#count > MAX_CELLS || cells.size > MAX_VALUES) this.#cells = undefined;
  }

  get reason(): string | undefined {
    if (this.#pair !== undefined || this.#isUniform || this.#cells) return this.#pair;
    const found = this.#fractionWithZero ?? (this.#hasWhole ? this.#wholeWithZero : undefined);
    return found && `the number of decimals varies, and trailing zeros may matter: ${found}`;
  }
}

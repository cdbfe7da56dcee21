/**
 * Finds columns that identify a row. Only the first rows are compared, so keys are verified again when all rows are
 * written.
 */
import type { Cell } from './column-guess.js';
import type { ColumnType } from './notations.js';

interface KeyColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly hasGaps: boolean;
}

/** A single key column must be unique in this number of rows at the start of the table. */
const MAX_ROWS = 20_000;
/** A combination of key columns must be unique in this number of rows at the start of the table. */
const MAX_SAMPLE = 4096;
const MAX_COMBINED = 6;
/** Columns with longer text are probably descriptions and not keys. */
const MAX_TEXT = 80;
const MAX_CANDIDATES = 3;

const IDENTIFIER =
  /^(id|key|code|uuid|guid|isbn|issn|doi|slug|symbol|ticker|fips|geoid|iso\d?|index|url)$|(^|_)(id|code|key|uuid)$|^id_/;
const PART =
  /(^|_)(id|code|key|no|nr|number|year|yr|quarter|qtr|month|week|day|hour|period|age|rank|level|round|version)($|_)/;

export class KeySearch {
  /**
   * The distinct values of each column. Undefined if the column cannot be a key, because a value occurs twice or a cell
   * is empty.
   */
  #values: (Set<Cell> | undefined)[] = [];
  #lengths: number[] = [];
  #rows = 0;
  readonly #sample: (readonly Cell[])[] = [];

  /** True if further rows would be ignored. */
  get isComplete(): boolean {
    return this.#rows === MAX_ROWS;
  }

  add(cells: readonly Cell[]): void {
    if (this.isComplete) return;
    this.#rows++;
    if (this.#sample.length < MAX_SAMPLE) this.#sample.push(cells);
    if (this.#rows === 1) this.#values = cells.map(() => new Set());
    for (let i = 0; i < this.#values.length; i++) {
      const values = this.#values[i];
      if (!values) continue;
      const cell = cells[i] ?? null;
      if (cell === null || cell === '' || values.has(cell)) this.#values[i] = undefined;
      else values.add(cell);
      if (typeof cell === 'string' && cell.length > (this.#lengths[i] ?? 0)) this.#lengths[i] = cell.length;
    }
  }

  candidates(columns: readonly KeyColumn[]): readonly (readonly number[])[] {
    const usable = [...columns.keys()].filter((i) => {
      const { type, hasGaps } = columns[i]!;
      return !hasGaps && type !== 'number' && type !== 'boolean';
    });
    const rank = (i: number): number => {
      const { name, type } = columns[i]!;
      if (type === 'text' && (this.#lengths[i] ?? 0) > MAX_TEXT) return 3;
      if (IDENTIFIER.test(name)) return 0;
      if (i === 0) return 1;
      // Integer columns rank last, because they often contain measurements that are unique by chance.
      return type === 'integer' ? 3 : 2;
    };
    const unique = usable.filter((i) => this.#values[i]);
    const single = (ranks: readonly number[]) =>
      ranks.flatMap((wanted) => unique.filter((i) => rank(i) === wanted).map((i) => [i]));
    const parts = usable.filter(
      (i) =>
        columns[i]!.type !== 'integer' || i === 0 || PART.test(columns[i]!.name) || IDENTIFIER.test(columns[i]!.name),
    );
    const short = parts.filter((i) => (this.#lengths[i] ?? 0) <= MAX_TEXT).slice(0, MAX_COMBINED);
    return [...single([0, 1, 2]), ...this.#combinations(short), ...single([3])].slice(0, MAX_CANDIDATES);
  }

  #combinations(columns: readonly number[]): readonly (readonly number[])[] {
    const after = (i: number) => columns.slice(columns.indexOf(i) + 1);
    const pairs = columns.flatMap((a) => after(a).map((b) => [a, b]));
    const found = pairs.filter((each) => this.#isUnique(each));
    if (found.length > 0) return found;
    return pairs.flatMap(([a, b]) => after(b!).map((c) => [a!, b!, c])).filter((each) => this.#isUnique(each));
  }

  #isUnique(columns: readonly number[]): boolean {
    const seen = new Set(this.#sample.map((cells) => JSON.stringify(columns.map((i) => cells[i]))));
    return seen.size === this.#sample.length;
  }
}

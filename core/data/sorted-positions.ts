import { hasMore, KEY_BYTES, type ValueColumn } from './value-column.js';

/** Number of positions per step. A step takes less than a millisecond. */
const STEP = 20_000;
const FEW = 256;

/**
 * Positions that must still be sorted, because their values are equal in all columns before `column` and in the first
 * `depth` bytes of `column`.
 */
interface Range {
  readonly start: number;
  readonly end: number;
  readonly column: number;
  readonly depth: number;
}

/**
 * Returns the fields by which documents must be sorted if they are already in key order. The sort is stable, so
 * trailing fields of the order that only repeat the key are not needed.
 */
export const fieldsToSortBy = (order: readonly string[], key: readonly string[]): readonly string[] => {
  for (let count = 0; count < order.length; count++) {
    const leading = order.slice(0, count);
    const rest = key.filter((field) => !leading.includes(field));
    if (order.slice(count).join() === rest.join()) return leading;
  }
  return order;
};

/** Positions and their sort keys. A key contains the bytes that are being compared. */
class Keyed {
  readonly keys: Float64Array;
  readonly positions: Uint32Array;
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;

  constructor(length: number) {
    this.keys = new Float64Array(length);
    this.positions = new Uint32Array(length);
    // Keys are positive doubles, so their bytes sort like their values.
    this.bytes = new Uint8Array(this.keys.buffer);
    this.words = new Uint32Array(this.keys.buffer);
  }
}

export class PositionSorter {
  readonly #length: number;
  #columns: readonly ValueColumn[] = [];
  #positions = new Uint32Array();
  #from: Keyed;
  #to: Keyed;

  constructor(length: number) {
    this.#length = length;
    this.#from = new Keyed(length);
    this.#to = new Keyed(length);
  }

  /**
   * Returns the positions of the documents sorted by these columns. Documents with equal values keep their order.
   * This is a radix sort. It sorts all positions by the first bytes of the first column, then positions with equal
   * bytes by the next bytes, and finally positions with equal values by the next column.
   * @yields at intervals of less than a millisecond, so that the caller can do other work
   */
  *sort(columns: readonly ValueColumn[]): Generator<void, Uint32Array> {
    const positions = new Uint32Array(this.#length);
    this.#columns = columns;
    this.#positions = positions;
    for (let at = 0; at < positions.length; at++) positions[at] = at;
    const ranges: Range[] = [{ start: 0, end: positions.length, column: 0, depth: 0 }];
    let few = 0;
    for (let range = ranges.pop(); range; range = ranges.pop()) {
      const size = range.end - range.start;
      if (size < 2 || range.column === this.#columns.length) continue;
      if (size > FEW) yield* this.#split(range, ranges);
      else {
        this.#sortFew(range);
        few += size;
        if (few < STEP / 8) continue;
        few = 0;
        yield;
      }
    }
    return positions;
  }

  #sortFew(range: Range): void {
    this.#positions.subarray(range.start, range.end).sort((a, b) => {
      let { depth } = range;
      for (let i = range.column; i < this.#columns.length; i++) {
        const order = this.#columns[i]!.compare(a, b, depth);
        if (order !== 0) return order;
        depth = 0;
      }
      return a - b;
    });
  }

  /** Sorts a range by its keys, and adds every range of positions with equal keys to `ranges`. */
  *#split(range: Range, ranges: Range[]): Generator<void, void> {
    const size = range.end - range.start;
    const differing = new Uint32Array(2);
    for (const step of steps(size)) {
      this.#readKeys(range, step, differing);
      yield;
    }
    for (const [byte, bits] of new Uint8Array(differing.buffer).entries())
      if (bits > 0) yield* this.#sortByByte(byte, size);
    let first = 0;
    for (const step of steps(size)) {
      first = this.#writeBack(range, step, first, ranges);
      yield;
    }
  }

  #readKeys({ start, column, depth }: Range, { from, to }: Step, differing: Uint32Array): void {
    const { keys, positions, words } = this.#from;
    const values = this.#columns[column]!;
    let [first, second] = differing;
    for (let at = from; at < to; at++) {
      const position = this.#positions[start + at]!;
      keys[at] = values.key(position, depth);
      positions[at] = position;
      first! |= words[2 * at]! ^ words[0]!;
      second! |= words[2 * at + 1]! ^ words[1]!;
    }
    differing.set([first!, second!]);
  }

  /** A stable counting sort. */
  *#sortByByte(byte: number, size: number): Generator<void, void> {
    const next = new Uint32Array(257);
    for (const step of steps(size)) {
      this.#count(byte, step, next);
      yield;
    }
    for (let digit = 0; digit < 256; digit++) next[digit + 1]! += next[digit]!;
    for (const step of steps(size)) {
      this.#move(byte, step, next);
      yield;
    }
    [this.#from, this.#to] = [this.#to, this.#from];
  }

  #count(byte: number, { from, to }: Step, next: Uint32Array): void {
    const { bytes } = this.#from;
    for (let at = from; at < to; at++) next[bytes[8 * at + byte]! + 1]!++;
  }

  #move(byte: number, { from, to }: Step, next: Uint32Array): void {
    const { keys, positions, bytes } = this.#from;
    const { keys: newKeys, positions: newPositions } = this.#to;
    for (let at = from; at < to; at++) {
      const target = next[bytes[8 * at + byte]!]!++;
      newKeys[target] = keys[at]!;
      newPositions[target] = positions[at]!;
    }
  }

  /**
   * Copies sorted positions to the result, and adds every range of positions with equal keys to `ranges`.
   * @param first the index of the first position with the current key
   */
  #writeBack({ start, end, column, depth }: Range, { from, to }: Step, first: number, ranges: Range[]): number {
    const { keys, positions } = this.#from;
    let same = first;
    for (let at = from; at < to; at++) {
      this.#positions[start + at] = positions[at]!;
      if (at + 1 < end - start && keys[at + 1] === keys[same]) continue;
      if (at > same) {
        const next = hasMore(keys[same]!) ? { column, depth: depth + KEY_BYTES } : { column: column + 1, depth: 0 };
        ranges.push({ start: start + same, end: start + at + 1, ...next });
      }
      same = at + 1;
    }
    return same;
  }
}

interface Step {
  readonly from: number;
  readonly to: number;
}

function* steps(length: number): Generator<Step> {
  for (let from = 0; from < length; from += STEP) yield { from, to: Math.min(length, from + STEP) };
}

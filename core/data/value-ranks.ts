/** Ranks the values of a column. Equal values have equal ranks. */
import type { Arena } from './arena.js';
import { hasMore, KEY_BYTES, type ValueColumn } from './value-column.js';

export interface Ranks {
  readonly ranks: Uint32Array;
  /** The number of different ranks, which start at 0. */
  readonly count: number;
}

interface Step {
  readonly from: number;
  readonly to: number;
}

const STEP = 5000;

export function* steps(length: number): Generator<Step> {
  for (let from = 0; from < length; from += STEP) yield { from, to: Math.min(length, from + STEP) };
}

/** Sets each position to its index. */
export function* fillPositions(positions: Uint32Array): Generator<void, void> {
  for (const { from, to } of steps(positions.length)) {
    for (let at = from; at < to; at++) positions[at] = at;
    yield;
  }
}

const FEW = 256;

/** Values whose first `depth` bytes are equal. They must still be sorted by the bytes that follow. */
interface Range {
  readonly start: number;
  readonly end: number;
  readonly depth: number;
}

/** Indexes of values and their sort keys. A key contains the bytes that are being compared. */
class Keyed {
  readonly keys: Float64Array;
  readonly indexes: Uint32Array;
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;

  constructor(keys: Float64Array, indexes: Uint32Array) {
    this.keys = keys;
    this.indexes = indexes;
    // Sort keys are positive doubles, so their bytes have the same order as their values.
    this.bytes = new Uint8Array(keys.buffer, keys.byteOffset, keys.byteLength);
    this.words = new Uint32Array(keys.buffer, keys.byteOffset, 2 * keys.length);
  }
}

/** The buffers of a sort. All columns use the same buffers, one column after the other. */
export class RankBuffers {
  readonly sorted: Uint32Array;
  readonly differs: Uint8Array;
  readonly ranks: Uint32Array;
  readonly from: Keyed;
  readonly to: Keyed;

  /** @param most the number of values in the largest column */
  constructor(arena: Arena, most: number) {
    const keyed = (): Keyed => new Keyed(arena.doubles(most), arena.integers(most));
    this.sorted = arena.integers(most);
    this.differs = arena.bytes(most);
    this.ranks = arena.integers(most);
    this.from = keyed();
    this.to = keyed();
  }
}

/** A radix sort. Sorts all values by their first bytes, and then values with equal bytes by the next bytes. */
class ValueSorter {
  readonly #values: ValueColumn;
  readonly #sorted: Uint32Array;
  readonly #differs: Uint8Array;
  readonly #ranks: Uint32Array;
  #from: Keyed;
  #to: Keyed;

  constructor(values: ValueColumn, { sorted, differs, ranks, from, to }: RankBuffers) {
    const { length } = values;
    this.#values = values;
    this.#sorted = sorted.subarray(0, length);
    this.#differs = differs.subarray(0, length).fill(0);
    this.#ranks = ranks.subarray(0, length);
    this.#from = from;
    this.#to = to;
  }

  *rank(): Generator<void, Ranks> {
    yield* fillPositions(this.#sorted);
    yield* this.#sort();
    let rank = 0;
    for (const { from, to } of steps(this.#ranks.length)) {
      for (let at = from; at < to; at++) {
        rank += this.#differs[at]!;
        this.#ranks[this.#sorted[at]!] = rank;
      }
      yield;
    }
    return { ranks: this.#ranks, count: rank + 1 };
  }

  *#sort(): Generator<void, void> {
    const ranges: Range[] = [{ start: 0, end: this.#sorted.length, depth: 0 }];
    let few = 0;
    for (let range = ranges.pop(); range; range = ranges.pop()) {
      const size = range.end - range.start;
      if (size > FEW) yield* this.#split(range, ranges);
      else {
        this.#sortFew(range);
        few += size;
        if (few < STEP / 2) continue;
        few = 0;
        yield;
      }
    }
  }

  #sortFew({ start, end, depth }: Range): void {
    const values = this.#values;
    const range = this.#sorted.subarray(start, end).sort((a, b) => values.compare(a, b, depth));
    for (let i = 1; i < range.length; i++)
      if (values.compare(range[i - 1]!, range[i]!, depth) !== 0) this.#differs[start + i] = 1;
  }

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

  #readKeys({ start, depth }: Range, { from, to }: Step, differing: Uint32Array): void {
    const { keys, indexes, words } = this.#from;
    const values = this.#values;
    let [first, second] = differing;
    for (let at = from; at < to; at++) {
      const index = this.#sorted[start + at]!;
      keys[at] = values.key(index, depth);
      indexes[at] = index;
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
    const { keys, indexes, bytes } = this.#from;
    const { keys: newKeys, indexes: newIndexes } = this.#to;
    for (let at = from; at < to; at++) {
      const target = next[bytes[8 * at + byte]!]!++;
      newKeys[target] = keys[at]!;
      newIndexes[target] = indexes[at]!;
    }
  }

  #writeBack({ start, end, depth }: Range, { from, to }: Step, first: number, ranges: Range[]): number {
    const { keys, indexes } = this.#from;
    let same = first;
    for (let at = from; at < to; at++) {
      this.#sorted[start + at] = indexes[at]!;
      if (at + 1 < end - start && keys[at + 1] === keys[same]) continue;
      if (at > same && hasMore(keys[same]!))
        ranges.push({ start: start + same, end: start + at + 1, depth: depth + KEY_BYTES });
      same = at + 1;
      if (same < end - start) this.#differs[start + same] = 1;
    }
    return same;
  }
}

/** The ranks are valid until the buffers are used again. */
export const rankValues = (values: ValueColumn, buffers: RankBuffers): Generator<void, Ranks> =>
  new ValueSorter(values, buffers).rank();

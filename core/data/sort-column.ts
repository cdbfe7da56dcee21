/** Collects the values of one field, and ranks them. Documents with equal values get equal ranks. */
import type { Arena } from './arena.js';
import { ValueColumn } from './value-column.js';
import { type RankBuffers, type Ranks, rankValues, steps } from './value-ranks.js';

const CHUNK_BITS = 14;
const CHUNK = 1 << CHUNK_BITS;

/** The first size of the first chunk and of the hash table. Both grow, so that small collections need little memory. */
const LEAST = 64;

/** The largest size of the hash table, which must be a power of two. */
const MOST_PLACES = 2 ** 15;
const MOST_KNOWN = MOST_PLACES / 2;
/** Values with more bytes are seldom repeated, so they are not stored in the hash table. */
const LONGEST_KNOWN = 64;

const hashOf = (json: Buffer, start: number, end: number): number => {
  let hash = 0;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ json[at]!, 0x01000193);
  return hash ^ (hash >>> 15);
};

/** A hash table that finds the indexes of values by their JSON text. */
class KnownValues {
  #bytes = Buffer.allocUnsafeSlow(LONGEST_KNOWN);
  readonly #ends = [0];
  readonly #indexes: number[] = [];
  /** Positions in `#indexes`, plus one. */
  #places = new Uint16Array(LEAST);
  #free = 0;

  get isFull(): boolean {
    return this.#indexes.length === MOST_KNOWN;
  }

  find(json: Buffer, start: number, end: number): number | undefined {
    const last = this.#places.length - 1;
    let place = hashOf(json, start, end) & last;
    for (let known = this.#places[place]!; known > 0; known = this.#places[place]!) {
      if (this.#isEqual(known - 1, json, start, end)) return this.#indexes[known - 1]!;
      place = (place + 1) & last;
    }
    this.#free = place;
    return undefined;
  }

  /** Adds a value that `find` has not found. */
  add(json: Buffer, start: number, end: number, index: number): number {
    if (this.isFull) return index;
    this.#places[this.#free] = this.#indexes.push(index);
    const first = this.#ends.at(-1)!;
    const last = first + end - start;
    if (last > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], 2 * last);
    json.copy(this.#bytes, first, start, end);
    this.#ends.push(last);
    if (2 * this.#indexes.length === this.#places.length && !this.isFull) this.#grow();
    return index;
  }

  #grow(): void {
    const places = new Uint16Array(2 * this.#places.length);
    for (let known = 0; known < this.#indexes.length; known++) {
      let place = hashOf(this.#bytes, this.#ends[known]!, this.#ends[known + 1]!) & (places.length - 1);
      while (places[place]! > 0) place = (place + 1) & (places.length - 1);
      places[place] = known + 1;
    }
    this.#places = places;
  }

  #isEqual(known: number, json: Buffer, start: number, end: number): boolean {
    const first = this.#ends[known]!;
    const size = end - start;
    if (this.#ends[known + 1]! - first !== size) return false;
    for (let i = 0; i < size; i++) if (this.#bytes[first + i] !== json[start + i]) return false;
    return true;
  }
}

export class SortColumn {
  readonly #arena: Arena;
  readonly #values: ValueColumn;
  readonly #known = new KnownValues();
  /** For each document, the index of its value. */
  readonly #indexes: Uint32Array[] = [];
  #capacity = 0;
  #length = 0;

  constructor(arena: Arena) {
    this.#arena = arena;
    this.#values = new ValueColumn(arena);
  }

  get differentValues(): number {
    return this.#values.length;
  }

  add(json: Buffer, start: number, end: number): void {
    if (this.#length === this.#capacity) this.#grow();
    const at = this.#length++;
    this.#indexes[at >>> CHUNK_BITS]![at % CHUNK] = this.#indexOf(json, start, end);
  }

  #grow(): void {
    if (this.#capacity >= CHUNK) this.#indexes.push(this.#arena.integers(CHUNK));
    else {
      const larger = this.#arena.integers(Math.max(LEAST, 2 * this.#capacity));
      if (this.#capacity > 0) larger.set(this.#indexes[0]!);
      this.#indexes[0] = larger;
    }
    this.#capacity = (this.#indexes.length - 1) * CHUNK + this.#indexes.at(-1)!.length;
  }

  #indexOf(json: Buffer, start: number, end: number): number {
    const isMostlyNew = this.#known.isFull && 2 * this.#values.length > this.#length;
    if (isMostlyNew || end - start > LONGEST_KNOWN) return this.#values.add(json, start, end);
    return this.#known.find(json, start, end) ?? this.#known.add(json, start, end, this.#values.add(json, start, end));
  }

  /** @yields at intervals of less than a millisecond, so that the caller can do other work */
  *rank(buffers: RankBuffers): Generator<void, Ranks> {
    const { ranks: ofValues, count } = yield* rankValues(this.#values, buffers);
    const ranks = this.#arena.integers(this.#length);
    for (const { from, to } of steps(this.#length)) {
      for (let at = from; at < to; at++) ranks[at] = ofValues[this.#indexes[at >>> CHUNK_BITS]![at % CHUNK]!]!;
      yield;
    }
    return { ranks, count };
  }
}

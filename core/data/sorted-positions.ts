import { firstPositions, type Ranks, steps } from './value-ranks.js';

/**
 * Returns the fields to sort by. Omits the key fields at the end of an order, because the documents are already in key
 * order and the sort is stable.
 */
export const fieldsToSortBy = (order: readonly string[], key: readonly string[]): readonly string[] => {
  for (let count = 0; count < order.length; count++) {
    const leading = order.slice(0, count);
    const rest = key.filter((field) => !leading.includes(field));
    if (order.slice(count).join() === rest.join()) return leading;
  }
  return order;
};

/** Ranks are sorted by 12 bits at a time. */
const DIGIT_BITS = 12;
const DIGITS = 1 << DIGIT_BITS;

/**
 * A stable radix sort. Documents with equal values keep their order.
 * @yields at intervals of less than a millisecond, so that the caller can do other work
 */
export function* sortedPositions(columns: readonly Ranks[], length: number): Generator<void, Uint32Array> {
  let positions = yield* firstPositions(length);
  let sorted = new Uint32Array(length);
  // Documents are sorted by the last column first, because each sort is stable.
  for (const { ranks, count } of columns.toReversed()) {
    for (let shift = 0; 2 ** shift < count; shift += DIGIT_BITS) {
      yield* sortByDigit(positions, sorted, ranks, shift);
      [positions, sorted] = [sorted, positions];
    }
  }
  return positions;
}

/** A stable counting sort. */
function* sortByDigit(
  positions: Uint32Array,
  sorted: Uint32Array,
  ranks: Uint32Array,
  shift: number,
): Generator<void, void> {
  const next = new Uint32Array(DIGITS + 1);
  for (const { from, to } of steps(ranks.length)) {
    for (let at = from; at < to; at++) next[((ranks[at]! >>> shift) & (DIGITS - 1)) + 1]!++;
    yield;
  }
  for (let digit = 0; digit < DIGITS; digit++) next[digit + 1]! += next[digit]!;
  for (const { from, to } of steps(positions.length)) {
    for (let at = from; at < to; at++) {
      const position = positions[at]!;
      sorted[next[(ranks[position]! >>> shift) & (DIGITS - 1)]!++] = position;
    }
    yield;
  }
}

import { isDeepStrictEqual } from 'node:util';
import { fillPositions, type Ranks, steps } from './value-ranks.js';

/** Field names can contain any character except U+0000. */
export const orderName = (fields: readonly string[]): string => fields.join('\0');

/**
 * Returns the fields to sort by. Omits the key fields at the end of an order, because the documents are already in key
 * order and the sort is stable.
 */
export const fieldsToSortBy = (order: readonly string[], key: readonly string[]): readonly string[] => {
  for (let count = 0; count < order.length; count++) {
    const leading = order.slice(0, count);
    const rest = key.filter((field) => !leading.includes(field));
    if (isDeepStrictEqual(order.slice(count), rest)) return leading;
  }
  return order;
};

/** Ranks are sorted by 12 bits at a time. */
const DIGIT_BITS = 12;
const DIGITS = 1 << DIGIT_BITS;

/**
 * A stable radix sort. Documents with equal values keep their order.
 * @param result receives the positions
 * @param spare an array of the same length, which is overwritten
 * @yields at intervals of less than a millisecond, so that the caller can do other work
 */
export function* sortPositions(columns: readonly Ranks[], result: Uint32Array, spare: Uint32Array): Generator<void> {
  // Documents are sorted by the last column first, because each sort is stable.
  const digits = columns.toReversed().flatMap((column) => shiftsOf(column.count).map((shift) => ({ column, shift })));
  // Each digit moves the positions to the other array. The last digit must move them to `result`.
  let [positions, sorted] = digits.length % 2 === 0 ? [result, spare] : [spare, result];
  yield* fillPositions(positions);
  for (const { column, shift } of digits) {
    yield* sortByDigit(positions, sorted, column, shift);
    [positions, sorted] = [sorted, positions];
  }
}

const shiftsOf = (count: number): readonly number[] => {
  const shifts: number[] = [];
  for (let shift = 0; 2 ** shift < count; shift += DIGIT_BITS) shifts.push(shift);
  return shifts;
};

/** A stable counting sort. */
function* sortByDigit(
  positions: Uint32Array,
  sorted: Uint32Array,
  { ranks, count }: Ranks,
  shift: number,
): Generator<void, void> {
  const digits = Math.min(DIGITS, count >>> shift) + 1;
  const next = new Uint32Array(digits + 1);
  for (const { from, to } of steps(ranks.length)) {
    for (let at = from; at < to; at++) next[((ranks[at]! >>> shift) & (DIGITS - 1)) + 1]!++;
    yield;
  }
  for (let digit = 0; digit < digits; digit++) next[digit + 1]! += next[digit]!;
  for (const { from, to } of steps(positions.length)) {
    for (let at = from; at < to; at++) {
      const position = positions[at]!;
      sorted[next[(ranks[position]! >>> shift) & (DIGITS - 1)]!++] = position;
    }
    yield;
  }
}

import type { Collection } from '../contracts/dataset.js';
import type { JsonRows } from '../contracts/storage.js';
import { Arena } from './arena.js';
import type { BufferPool } from './buffer-pool.js';
import { JsonFields } from './json-fields.js';
import { SortColumn } from './sort-column.js';
import { fieldsToSortBy, orderName, sortPositions } from './sorted-positions.js';
import { RankBuffers, type Ranks } from './value-ranks.js';

/** Memory for sorting, in bytes. */
const PER_VALUE = 10;
const PER_DOCUMENT = 40;

/** Collects the values of documents, and sorts the documents in every declared order. */
export class Sorter {
  readonly #key: readonly string[];
  readonly #orders: readonly (readonly string[])[];
  readonly #arena: Arena;
  readonly #values: JsonFields;
  readonly #columns: ReadonlyMap<string, SortColumn>;
  #length = 0;

  /**
   * @param expected the approximate number of documents
   * @param pool provides memory for sorting
   */
  constructor({ key, orders = [] }: Collection, expected: number, pool?: BufferPool) {
    const names = [...new Set(orders.flatMap((order: readonly string[]) => fieldsToSortBy(order, key)))];
    const arena = new Arena(expected * (names.length * PER_VALUE + PER_DOCUMENT), pool);
    this.#key = key;
    this.#orders = orders;
    this.#arena = arena;
    this.#values = new JsonFields(names);
    this.#columns = new Map(names.map((name) => [name, new SortColumn(arena)]));
  }

  add({ json, ends: ofRows }: JsonRows): void {
    this.#length += ofRows.length;
    if (this.#columns.size === 0) return;
    const { starts, ends } = this.#values;
    const columns = [...this.#columns.values()];
    let start = 0;
    for (const end of ofRows) {
      this.#values.find(json, start);
      for (let i = 0; i < columns.length; i++) columns[i]!.add(json, starts[i]!, ends[i]!);
      start = end + 1;
    }
  }

  /**
   * Returns the positions of the documents in each order.
   * @param arena stores the positions
   * @yields at intervals of less than a millisecond, so that the caller can do other work
   */
  *sort(arena: Arena): Generator<void, ReadonlyMap<string, Uint32Array>> {
    const ranks = yield* this.#rank();
    const spare = this.#arena.integers(this.#length);
    const sorted = new Map<string, Uint32Array>();
    for (const order of this.#orders) {
      const columns = fieldsToSortBy(order, this.#key).map((field) => ranks.get(field)!);
      const positions = arena.integers(this.#length);
      yield* sortPositions(columns, positions, spare);
      sorted.set(orderName(order), positions);
    }
    return sorted;
  }

  *#rank(): Generator<void, ReadonlyMap<string, Ranks>> {
    const columns = [...this.#columns.values()];
    const buffers = new RankBuffers(this.#arena, Math.max(0, ...columns.map(({ differentValues }) => differentValues)));
    const ranks = new Map<string, Ranks>();
    for (const [name, column] of this.#columns) ranks.set(name, yield* column.rank(buffers));
    return ranks;
  }
}

/** The answers of one snapshot, kept as bytes within a budget; the least used are dropped first. */
import type { Representation } from './representation.js';

interface Entry {
  readonly representation: Representation;
  /** Uses since the last sweep: an entry that was used gets a second chance. */
  uses: number;
}

export class ResponseCache {
  readonly #entries = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<Representation>>();
  readonly #budget: number;
  #bytes = 0;

  readonly #dropped: (shape: string) => void;

  /**
   * @param budget bytes of bodies to keep, compressed forms counted
   * @param dropped told of each shape that no longer is kept
   */
  constructor(budget: number, dropped: (shape: string) => void = () => undefined) {
    this.#budget = budget;
    this.#dropped = dropped;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(shape: string): Representation | undefined {
    const entry = this.#entries.get(shape);
    if (entry === undefined) return undefined;
    entry.uses++;
    return entry.representation;
  }

  /** The kept answer, or a computed one; requests that arrive meanwhile share one computation. */
  getOrCompute(shape: string, compute: () => Promise<Representation>): Promise<Representation> {
    const pending = this.#pending.get(shape);
    if (pending) return pending;
    const promise = compute()
      .then((representation) => {
        this.set(shape, representation);
        return representation;
      })
      .finally(() => this.#pending.delete(shape));
    this.#pending.set(shape, promise);
    return promise;
  }

  set(shape: string, representation: Representation): void {
    this.#entries.set(shape, { representation, uses: 1 });
    this.#bytes += representation.size + shape.length;
    if (this.#bytes > this.#budget) this.#sweep();
  }

  /** The most used shapes, hottest first. */
  hottest(count: number): string[] {
    return [...this.#entries]
      .sort(([, a], [, b]) => b.uses - a.uses)
      .slice(0, count)
      .map(([shape]) => shape);
  }

  /** Drops unused entries, oldest first, until the budget holds. Sizes are summed anew: compressed forms come later. */
  #sweep(): void {
    this.#bytes = 0;
    for (const [shape, { representation }] of this.#entries) this.#bytes += representation.size + shape.length;
    while (this.#bytes > this.#budget && this.#entries.size > 0) {
      for (const [shape, entry] of this.#entries) {
        if (this.#bytes <= this.#budget) break;
        if (entry.uses > 0) entry.uses >>= 1;
        else {
          this.#entries.delete(shape);
          this.#dropped(shape);
          this.#bytes -= entry.representation.size + shape.length;
        }
      }
    }
  }
}

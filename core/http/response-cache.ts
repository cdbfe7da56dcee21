/** The answers of one snapshot, kept as bytes within a budget; the least used are dropped first. */
import type { Representation } from './representation.js';

interface Entry {
  readonly representation: Representation;
  /** Halved each time that room is wanted: an entry that was used gets another chance. */
  uses: number;
  /** As counted last. */
  bytes: number;
}

/** What an answer takes beside its body: its headers, its request, its place here. Measured: 1930 bytes. */
export const BESIDE_BODY = 2048;

const bytesOf = (shape: string, { size }: Representation): number => size + shape.length + BESIDE_BODY;

export class ResponseCache {
  readonly #entries = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<Representation>>();
  readonly #budget: number;
  #bytes = 0;

  readonly #dropped: (shape: string) => void;

  /**
   * @param budget bytes to keep, compressed forms counted
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
    const bytes = bytesOf(shape, representation);
    this.#entries.set(shape, { representation, uses: 1, bytes });
    this.#bytes += bytes;
    this.#sweep();
  }

  /** The most used shapes, hottest first. */
  hottest(count: number): string[] {
    return [...this.#entries]
      .sort(([, a], [, b]) => b.uses - a.uses)
      .slice(0, count)
      .map(([shape]) => shape);
  }

  /**
   * Drops unused entries, oldest first, until the budget holds. Those with another chance go behind all others (the
   * "clock" of page replacement), so that few are looked at for each one dropped, however many there are.
   */
  #sweep(): void {
    for (const [shape, entry] of this.#entries) {
      if (this.#bytes <= this.#budget) return;
      // Compressed forms come later than the answer.
      const bytes = bytesOf(shape, entry.representation);
      this.#bytes += bytes - entry.bytes;
      entry.bytes = bytes;
      this.#entries.delete(shape);
      if (entry.uses > 0) {
        entry.uses >>= 1;
        this.#entries.set(shape, entry);
      } else {
        this.#bytes -= bytes;
        this.#dropped(shape);
      }
    }
  }
}

/** Text that means a missing value in any column. Spaces around a cell do not count. */
export class MissingMarkers {
  readonly #unused: Set<string>;
  readonly #markers: ReadonlySet<string>;

  constructor(markers: readonly string[]) {
    this.#markers = new Set(markers.map((marker) => marker.trim()));
    this.#unused = new Set(this.#markers);
  }

  get isEmpty(): boolean {
    return this.#markers.size === 0;
  }

  has(cell: string | number | boolean): boolean {
    if (this.isEmpty) return false;
    const text = String(cell).trim();
    if (!this.#markers.has(text)) return false;
    this.#unused.delete(text);
    return true;
  }

  get notes(): readonly string[] {
    return [...this.#unused].map((marker) => `no cell contains the missing value ${JSON.stringify(marker)}`);
  }
}

import type { Document } from '../contracts/dataset.js';
import type { Group, NumberTotals, TotalsQuery } from '../contracts/storage.js';

type Value = Group['values'][number];

const valueIn = (document: Document, field: string): Value => (document[field] ?? null) as Value;

/** Uses Neumaier's compensated summation, so that the order of the numbers does not affect the sum. */
class NumberSums implements NumberTotals {
  count = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  #sum = 0;
  #lost = 0;

  add(value: number): void {
    const sum = this.#sum + value;
    this.#lost += Math.abs(this.#sum) >= Math.abs(value) ? this.#sum - sum + value : value - sum + this.#sum;
    this.#sum = sum;
    this.count++;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
  }

  get sum(): number {
    return this.#sum + this.#lost;
  }
}

interface OpenGroup extends Group {
  count: number;
  readonly sums: NumberSums;
}

export class TotalsCollector {
  readonly #by: readonly string[];
  readonly #of: string | undefined;
  readonly #groups: OpenGroup[] = [];
  readonly #byFirst = new Map<Value | undefined, Map<Value | undefined, OpenGroup>>();

  constructor({ by, of }: Pick<TotalsQuery, 'by' | 'of'>) {
    this.#by = by;
    this.#of = of;
    if (by.length === 0) this.#groupOf({});
  }

  get size(): number {
    return this.#groups.length;
  }

  add(document: Document): void {
    const group = this.#groupOf(document);
    group.count++;
    const value = this.#of === undefined ? undefined : document[this.#of];
    if (typeof value === 'number') group.sums.add(value);
  }

  groups(): readonly Group[] {
    return this.#groups.map(({ values, count, sums }) => ({ values, count, ...(sums.count > 0 && { numbers: sums }) }));
  }

  #groupOf(document: Document): OpenGroup {
    const [firstField, secondField] = this.#by;
    const first = firstField === undefined ? undefined : valueIn(document, firstField);
    const second = secondField === undefined ? undefined : valueIn(document, secondField);
    let others = this.#byFirst.get(first);
    if (!others) {
      others = new Map();
      this.#byFirst.set(first, others);
    }
    let group = others.get(second);
    if (!group) {
      const values = [first, second].filter((value) => value !== undefined);
      group = { values, count: 0, sums: new NumberSums() };
      others.set(second, group);
      this.#groups.push(group);
    }
    return group;
  }
}

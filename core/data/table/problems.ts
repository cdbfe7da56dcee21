import { firstLines, OperatorError } from '../../errors.js';
import { counted } from '../../util/counted.js';

const MAX_LISTED = 20;

export class Problems {
  readonly #file: string;
  readonly #errors: string[] = [];
  #count = 0;
  readonly #notes = new Map<string, { count: number; readonly line: number }>();

  constructor(file: string) {
    this.#file = file;
  }

  addBadRow(line: number, what: string): void {
    this.#count++;
    if (this.#errors.length < MAX_LISTED) this.#errors.push(`line ${line}: ${what}`);
  }

  note(what: string, line: number): void {
    const before = this.#notes.get(what);
    if (before) before.count++;
    else this.#notes.set(what, { count: 1, line });
  }

  get #listed(): readonly string[] {
    const more = this.#count - this.#errors.length;
    return more > 0 ? [...this.#errors, `and ${more.toLocaleString('en-US')} more`] : this.#errors;
  }

  get notes(): readonly string[] {
    const listed = this.#listed.join('; ');
    const verb = this.#count === 1 ? 'was' : 'were';
    const left = this.#count > 0 ? [`${counted(this.#count, 'bad row')} ${verb} skipped: ${listed}`] : [];
    const rows = (count: number) => `${counted(count, 'row')} ${count === 1 ? 'has' : 'have'}`;
    return [
      ...left,
      ...[...this.#notes].map(([what, { count, line }]) => `${rows(count)} ${what}, first in line ${line}`),
    ];
  }

  throwBadRows(): void {
    if (this.#count === 0) return;
    const advice = '--skip-bad-rows skips such rows; --separator and --quote override wrong guesses';
    this.refuse([...this.#listed, advice]);
  }

  refuse(errors: readonly string[], Kind: typeof OperatorError = OperatorError): never {
    throw new Kind(`${this.#file} was not imported, and nothing was changed:`, firstLines(errors, MAX_LISTED + 2));
  }
}

/** One thing that is wrong with a dataset, told so that it can be found and mended. */

export interface Fault {
  /** Relative to the dataset directory; the collection's name where it is not in files. */
  readonly file: string;
  /** Line of the file, from 1; null where the file as a whole is meant. */
  readonly row: number | null;
  /** Null where the row as a whole is meant. */
  readonly field: string | null;
  /** What must hold, or what is wrong. */
  readonly rule: string;
}

/** `hpi.ndjson:12: value: must be number` */
export const formatFault = ({ file, row, field, rule }: Fault): string =>
  [row === null ? file : `${file}:${row}`, ...(field === null ? [] : [field]), rule].join(': ');

/** Keeps the first faults and counts all. */
export class FaultList {
  readonly kept: Fault[] = [];
  total = 0;

  constructor(readonly most: number) {}

  add(fault: Fault): void {
    this.total++;
    if (this.kept.length < this.most) this.kept.push(fault);
  }

  /** A line each, and one that says how many more there are. */
  lines(): string[] {
    const more = this.total - this.kept.length;
    return [...this.kept.map(formatFault), ...(more > 0 ? [`and ${more} more`] : [])];
  }
}

/** Faults of a dataset, each with its place; and the faults that a schema finds in a document. */
import type { JsonSchema } from '../contracts/json-schema.js';
import type { ErrorObject } from '../validation/compile-schema.js';
import { describeSchema } from '../validation/describe-schema.js';
import { nearest } from '../validation/nearest.js';
import { formatPath, type Path, pointerPath } from '../validation/path.js';

export interface DataError {
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
export const formatDataError = ({ file, row, field, rule }: DataError): string =>
  [row === null ? file : `${file}:${row}`, ...(field === null ? [] : [field]), rule].join(': ');

/** Keeps the first faults and counts all. */
export class ErrorList {
  readonly kept: DataError[] = [];
  total = 0;

  constructor(readonly most: number) {}

  add(fault: DataError): void {
    this.total++;
    if (this.kept.length < this.most) this.kept.push(fault);
  }

  /** The kept faults, one a line, and how many more there are. */
  lines(): string[] {
    const more = this.total - this.kept.length;
    return [...this.kept.map(formatDataError), ...(more > 0 ? [`and ${more} more`] : [])];
  }
}

const LONGEST_SHOWN = 60;

const show = (value: unknown): string => {
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
};

const sentence = (error: ErrorObject): { path: Path; rule: string } => {
  const { keyword, params, data } = error;
  const schema = error.parentSchema as JsonSchema;
  if (keyword === 'required') return { path: [params['missingProperty'] as string], rule: 'is missing' };
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') {
    const name: string = params['additionalProperty'] ?? params['unevaluatedProperty'];
    const near = nearest(name, Object.keys((schema['properties'] as object | undefined) ?? {}));
    return { path: [name], rule: `is not a known field${near === undefined ? '' : `; did you mean "${near}"?`}` };
  }
  if (typeof data === 'number' && !Number.isFinite(data)) return { path: [], rule: 'must be a finite number' };
  if (keyword === 'format' && params['format'] === 'date') {
    return { path: [], rule: `must be a date of the calendar, YYYY-MM-DD, not ${show(data)}` };
  }
  const allowed = describeSchema(schema);
  return { path: [], rule: allowed === 'another value' ? `${error.message}` : `must be ${allowed}, not ${show(data)}` };
};

/** One fault for each field and rule. The errors must have been collected with `verbose`. */
export const schemaErrors = (
  errors: readonly ErrorObject[] | null | undefined,
  document: unknown,
): readonly Pick<DataError, 'field' | 'rule'>[] => {
  const faults = new Map<string, Pick<DataError, 'field' | 'rule'>>();
  for (const error of errors ?? []) {
    const { path, rule } = sentence(error);
    const field = formatPath([...pointerPath(error.instancePath, document), ...path]) || null;
    faults.set(`${field}: ${rule}`, { field, rule });
  }
  return [...faults.values()];
};

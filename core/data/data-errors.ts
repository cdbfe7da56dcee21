import type { JsonSchema } from '../contracts/json-schema.js';
import type { ErrorObject } from '../validation/compile-schema.js';
import { describeSchema } from '../validation/describe-errors.js';
import { nearest } from '../validation/nearest.js';
import { formatPath, type Path, pointerPath } from '../validation/path.js';

export interface DataError {
  /** The name of the file, or of the collection if the rows do not come from files. */
  readonly file: string;
  /** The line number, starting at 1. Null if the error concerns the whole file. */
  readonly row: number | null;
  /** The path of the field. Null if the error concerns the whole row. */
  readonly field: string | null;
  readonly rule: string;
}

export const formatDataError = ({ file, row, field, rule }: DataError): string =>
  [row === null ? file : `${file}:${row}`, ...(field === null ? [] : [field]), rule].join(': ');

/** The check of a file stops after this many errors, because the file is probably of the wrong kind. */
const MAX_COUNTED = 1000;

export class ErrorList {
  readonly kept: DataError[] = [];
  total = 0;
  #isFull = false;

  constructor(readonly most: number) {}

  get isFull(): boolean {
    return this.#isFull;
  }

  add(error: DataError): void {
    this.#isFull ||= this.total === MAX_COUNTED;
    if (this.#isFull) return;
    this.total++;
    if (this.kept.length < this.most) this.kept.push(error);
  }

  lines(): string[] {
    const more = this.total - this.kept.length;
    return [
      ...this.kept.map(formatDataError),
      ...(more > 0 ? [`and ${more} more`] : []),
      ...(this.isFull ? [`the check stopped after ${MAX_COUNTED} errors`] : []),
    ];
  }
}

const MAX_SHOWN = 60;
const MAX_DESCRIBED = 100;
/** If a schema has more fields than this, error messages suggest no similar name. The search would take too long. */
const MAX_SUGGESTIONS = 1000;

const show = (value: unknown): string => {
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
};

const suggestionFor = (name: string, { properties }: JsonSchema): string => {
  const names = Object.keys((properties as object | undefined) ?? {});
  const near = names.length > MAX_SUGGESTIONS ? undefined : nearest(name, names);
  return near === undefined ? '' : `; did you mean "${near}"?`;
};

const describe = (error: ErrorObject): { path: Path; rule: string } => {
  const { keyword, params, data } = error;
  const schema = error.parentSchema as JsonSchema;
  if (keyword === 'required') return { path: [params['missingProperty'] as string], rule: 'is missing' };
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') {
    const name: string = params['additionalProperty'] ?? params['unevaluatedProperty'];
    return { path: [name], rule: `is not a known field${suggestionFor(name, schema)}` };
  }
  if (typeof data === 'number' && !Number.isFinite(data)) return { path: [], rule: 'must be a finite number' };
  if (keyword === 'format' && params['format'] === 'date') {
    return { path: [], rule: `must be a calendar date, YYYY-MM-DD, not ${show(data)}` };
  }
  const allowed = describeSchema(schema);
  return { path: [], rule: allowed === 'another value' ? `${error.message}` : `must be ${allowed}, not ${show(data)}` };
};

/** The Ajv validator must be compiled with `verbose`. */
export const schemaErrors = (
  errors: readonly ErrorObject[] | null | undefined,
  document: unknown,
): readonly Pick<DataError, 'field' | 'rule'>[] => {
  const found = new Map<string, Pick<DataError, 'field' | 'rule'>>();
  for (const error of errors?.slice(0, MAX_DESCRIBED) ?? []) {
    const { path, rule } = describe(error);
    const field = formatPath([...pointerPath(error.instancePath, document), ...path]) || null;
    found.set(`${field}: ${rule}`, { field, rule });
  }
  return [...found.values()];
};

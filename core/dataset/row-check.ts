/** Checks the rows of one collection, given one after the other in their order. */

import { memoize } from '../cache/lru-map.js';
import type { Collection, Document, Manifest } from '../contracts/dataset.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import { compareBy } from '../storage/scalars.js';
import { compileSchema, compileWith, createAjv, type ValidateFunction } from '../validation/compile-schema.js';
import { nonFinitePath } from '../validation/json.js';
import { type Fault, schemaFaults } from './faults.js';

type Check = (document: Document) => boolean;

/** Most dates of a dataset are there many times; looking one up takes a fraction of checking it. */
const REPEATING = ['date', 'date-time'];
const REMEMBERED = 10_000;

const createCompiler = () => {
  // A schema was checked when its plugin was registered, which takes longer than all of this.
  const ajv = createAjv({ allErrors: false, verbose: false, validateSchema: false });
  for (const name of REPEATING) {
    const format = ajv.formats[name] as { validate: (text: string) => boolean };
    ajv.addFormat(name, { type: 'string', validate: memoize(format.validate, REMEMBERED) });
  }
  return ajv;
};

let compiler: ReturnType<typeof createCompiler> | undefined;

const compile = (schema: JsonSchema): Check => {
  compiler ??= createCompiler();
  return compileWith<Document>(compiler, schema);
};

const compiled = new WeakMap<JsonSchema, Check>();

/**
 * A check of documents that only says yes or no, made for very many of them. It is compiled once for each schema, since
 * a dataset is checked again with every version.
 */
export const quickCheck = (schema: JsonSchema): Check => {
  const check = compiled.get(schema) ?? compile(schema);
  compiled.set(schema, check);
  return check;
};

/** The keys of a collection that others refer to, once all of them are known. */
export interface Target {
  readonly keys: Set<string>;
  complete: boolean;
}

const keyText = (document: Document, fields: readonly string[]): string =>
  fields.length === 1 ? String(document[fields[0] as string]) : JSON.stringify(fields.map((field) => document[field]));

/** What one collection says of another, row by row. */
class ReferenceCheck {
  readonly #fields: readonly string[];
  readonly #to: string;
  readonly #target: Target;
  /** Neighbouring rows mostly refer to the same document. */
  #last: string | undefined;
  /** References to rows that may still come: in the same collection, or in a collection that refers back. */
  readonly #waiting: { readonly row: number; readonly value: string }[] = [];

  constructor(fields: readonly string[], to: string, target: Target) {
    this.#fields = fields;
    this.#to = to;
    this.#target = target;
  }

  add(document: Document, row: number, onFault: OnFault): void {
    const value = keyText(document, this.#fields);
    if (value === this.#last) return;
    if (this.#target.keys.has(value)) this.#last = value;
    else if (this.#target.complete) this.#report(row, value, onFault);
    else this.#waiting.push({ row, value });
  }

  finish(onFault: OnFault): void {
    for (const { row, value } of this.#waiting) {
      if (!this.#target.keys.has(value)) this.#report(row, value, onFault);
    }
  }

  #report(row: number, value: string, onFault: OnFault): void {
    onFault(row, this.#fields.join('+'), `refers to ${value}, which is not in "${this.#to}"`);
  }
}

type OnFault = (row: number, field: string | null, rule: string) => void;

export class RowCheck {
  readonly #collection: Collection;
  readonly #manifest: Pick<Manifest, 'created'>;
  readonly #onFault: OnFault;
  readonly #isSound: (document: Document) => boolean;
  readonly #compare: (a: Document, b: Document) => number;
  readonly #target: Target | undefined;
  readonly #references: readonly ReferenceCheck[];
  /** Gathers every fault; compiled for the first row that has one. */
  #explain: ValidateFunction | undefined;
  #previous: Document | undefined;

  /** @param targets of every collection that is referred to */
  constructor(
    collection: Collection,
    manifest: Pick<Manifest, 'created'>,
    file: string,
    targets: ReadonlyMap<string, Target>,
    report: (fault: Fault) => void,
  ) {
    this.#collection = collection;
    this.#manifest = manifest;
    this.#onFault = (row, field, rule) => report({ file, row, field, rule });
    this.#isSound = quickCheck(collection.schema);
    this.#compare = compareBy(collection.key);
    this.#target = targets.get(collection.name);
    this.#references = (collection.references ?? []).map(
      ({ fields, to }) => new ReferenceCheck(fields, to, targets.get(to) as Target),
    );
  }

  add(document: Document, row: number): void {
    if (!this.#isSound(document)) {
      this.#explain ??= compileSchema(this.#collection.schema);
      this.#explain(document);
      for (const { field, rule } of schemaFaults(this.#explain.errors, document)) this.#onFault(row, field, rule);
      return;
    }
    const infinite = nonFinitePath(document);
    if (infinite) this.#onFault(row, infinite.join('.'), 'must be a finite number');
    if (this.#previous) this.#checkOrder(this.#previous, document, row);
    this.#previous = document;
    this.#target?.keys.add(keyText(document, this.#collection.key));
    for (const reference of this.#references) reference.add(document, row, this.#onFault);
    const checked = this.#collection.check?.(document, this.#manifest);
    if (checked) this.#onFault(row, checked.field, checked.rule);
  }

  /** To be called when the rows of all collections have been added. */
  finish(): void {
    for (const reference of this.#references) reference.finish(this.#onFault);
  }

  #checkOrder(previous: Document, document: Document, row: number): void {
    const { key } = this.#collection;
    const order = this.#compare(previous, document);
    if (order === 0) this.#onFault(row, key.join('+'), `has the same key as the row before: ${keyText(document, key)}`);
    if (order > 0) {
      this.#onFault(row, key.join('+'), `must come after ${keyText(previous, key)}: rows are in key order`);
    }
  }
}

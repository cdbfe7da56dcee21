/** Takes the defaults of an import from an existing declaration of the collection. */
import type { Collection } from '../../contracts/dataset.js';
import type { JsonSchema } from '../../contracts/json-schema.js';
import { firstLines } from '../../errors.js';
import { compileSchema } from '../../validation/compile-schema.js';
import { isJsonObject } from '../../validation/json.js';
import { schemaErrors } from '../data-errors.js';
import type { Column, TableOptions } from './first-pass.js';
import { columnNames } from './names.js';
import { COLUMN_TYPES, type ColumnType, SCHEMAS } from './notations.js';
import type { Problems } from './problems.js';
import type { KeyedBlock } from './row-block.js';

type Properties = Readonly<Record<string, JsonSchema>>;

export interface Declared {
  readonly schema: JsonSchema;
  readonly properties: Properties;
  /** The fields of the declared key and sort orders, in which imports do not allow null. */
  readonly ordered: ReadonlySet<string>;
  /**
   * Columns whose type comes from the declaration and not from an option. Values in these columns must not lose digits.
   */
  readonly typed: ReadonlySet<string>;
  /** True if the key is the row number. */
  readonly isNumbered: boolean;
  /** Each order without the key fields at its end. */
  readonly leads: readonly (readonly string[])[];
  /** True if the schema has rules that the import does not enforce on its own. */
  readonly hasRules: boolean;
  readonly advice: string;
}

const propertiesOf = (schema: JsonSchema): Properties => (schema['properties'] ?? {}) as Properties;

const typesIn = ({ type }: JsonSchema): readonly unknown[] => [type ?? []].flat();

const isNullable = (schema: JsonSchema): boolean => typesIn(schema).length === 0 || typesIn(schema).includes('null');

const typeOf = (schema: JsonSchema): ColumnType | undefined => {
  const [type, ...others] = typesIn(schema).filter((each) => each !== 'null');
  if (others.length > 0) return undefined;
  const format = type === 'string' ? schema['format'] : undefined;
  const found = COLUMN_TYPES.find((each) => SCHEMAS[each]['type'] === type && SCHEMAS[each]['format'] === format);
  return found ?? (type === 'string' ? 'text' : undefined);
};

/** Keywords that the import enforces, and keywords that do not affect validity. */
const KEYWORDS: ReadonlySet<string> = new Set(
  'type format title description examples default x-unit required properties additionalProperties'.split(' '),
);

const hasOtherKeywords = (schema: JsonSchema): boolean => Object.keys(schema).some((keyword) => !KEYWORDS.has(keyword));

const hasRules = (schema: JsonSchema): boolean => {
  const type = typeOf(schema);
  return type === undefined || schema['format'] !== SCHEMAS[type]['format'] || hasOtherKeywords(schema);
};

const withKey = (lead: readonly string[], key: readonly string[]): readonly string[] => [
  ...lead,
  ...key.filter((field) => !lead.includes(field)),
];

export const ordersOf = (
  leads: readonly (readonly string[])[],
  key: readonly string[],
): readonly (readonly string[])[] =>
  leads.map((lead) => withKey(lead, key)).filter((order) => order.join() !== key.join());

const leadOf = (order: readonly string[], key: readonly string[]): readonly string[] => {
  const length = order.findIndex((_, i) => withKey(order.slice(0, i + 1), key).join() === order.join()) + 1;
  return order.slice(0, length || order.length);
};

/** Maps headings to declared names. The title of a declared column is its heading. */
const declaredNames = (headings: readonly string[], properties: Properties): ReadonlyMap<string, string> => {
  const titled = new Map<unknown, string[]>();
  for (const [name, { title }] of Object.entries(properties)) titled.set(title, [...(titled.get(title) ?? []), name]);
  const isRepeated = (heading: string): boolean => headings.indexOf(heading) !== headings.lastIndexOf(heading);
  return new Map(
    headings.flatMap((heading) => {
      const names = titled.get(heading) ?? [];
      return names.length === 1 && !Object.hasOwn(properties, heading) && !isRepeated(heading)
        ? [[heading, names[0]!]]
        : [];
    }),
  );
};

const renamed = ({ schema, ...others }: Collection, names: ReadonlyMap<string, string>): Collection => {
  const fields = (list: readonly string[]) => list.map((name) => names.get(name) ?? name);
  const members = (object: object) =>
    Object.fromEntries(Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value]));
  const { examples } = schema;
  return {
    ...others,
    key: fields(others.key),
    ...(others.orders && { orders: others.orders.map(fields) }),
    ...(others.search && { search: fields(others.search) }),
    schema: {
      ...schema,
      properties: members(propertiesOf(schema)),
      ...(Array.isArray(examples) && { examples: examples.map((row) => (isJsonObject(row) ? members(row) : row)) }),
    },
  };
};

/**
 * Fills in options from the declaration. Options that are set take precedence.
 * @throws OperatorError if the file has no column for a declared property
 */
export const withDeclaration = (
  options: TableOptions,
  declaration: Collection,
  headings: readonly string[],
  problems: Problems,
): TableOptions => {
  const defaults = declaredNames(headings, propertiesOf(declaration.schema));
  const before = columnNames(headings, defaults).map(({ name }) => name);
  const derived = columnNames(headings, new Map()).map(({ name }) => name);
  const names = new Map([...defaults, ...options.names]);
  for (const [i, heading] of headings.entries()) {
    const given = options.names.get(heading) ?? options.names.get(before[i]!) ?? options.names.get(derived[i]!);
    if (given !== undefined && heading !== '') names.set(heading, given);
  }
  const after = columnNames(headings, names).map(({ name }) => name);
  const changed = new Map(before.flatMap((name, i) => (name === after[i] ? [] : [[name, after[i]!]])));
  const { key, orders = [], search = [], schema } = renamed(declaration, changed);
  const properties = propertiesOf(schema);
  const known = new Set(after);
  const isNumbered = key.length === 1 && !known.has(key[0]!) && typeOf(properties[key[0]!] ?? {}) === 'integer';
  const file = `${options.name}.collection.json`;
  const absent = Object.keys(properties).filter((name) => !known.has(name) && !(isNumbered && name === key[0]));
  if (absent.length > 0) {
    problems.refuse([
      ...firstLines(absent, 10, (name) => `there is no column "${name}", which ${file} declares`),
      `add the column, name it with --name HEADING=COLUMN, remove it from ${file}, or use --redeclare`,
    ]);
  }
  const types = new Map(options.types);
  const typed = new Set<string>();
  for (const [i, name] of after.entries()) {
    const given = options.types.get(name) ?? options.types.get(headings[i]!);
    const type = given ?? typeOf(properties[name] ?? {});
    if (type !== undefined) types.set(name, type);
    if (given === undefined && type !== undefined) typed.add(name);
  }
  const leads = orders.map((order) => leadOf(order, key));
  const given = options.sort.map((column) => [column]);
  const kept = given.length > 0 ? [...leads.filter((lead) => lead.length > 1), ...given] : leads;
  const ordered = new Set([...key, ...orders.flat()]);
  return {
    ...options,
    names,
    types,
    key: options.key ?? (isNumbered ? undefined : key),
    sort: [...new Set(kept.flat())],
    search: options.search.length > 0 ? options.search : search,
    declared: {
      schema,
      properties,
      ordered,
      typed,
      isNumbered: isNumbered && options.key === undefined,
      leads: kept,
      hasRules:
        hasOtherKeywords(schema) ||
        Object.entries(properties).some(([name, each]) => hasRules(each) || !(isNullable(each) || ordered.has(name))),
      advice: `${file} declares the collection; --type, --key and --sort override it, and --redeclare replaces it`,
    },
  };
};

/**
 * The schema of a column. Allows null unless the column belongs to the key or an order, or the declaration forbids
 * null.
 */
export const propertyOf = (
  { name, heading, type, unit }: Column,
  declared: Declared | undefined,
  isOrdered: boolean,
): JsonSchema => {
  const before = declared?.properties[name];
  const isKept = before !== undefined && [type, undefined].includes(typeOf(before));
  const title = heading !== name && heading !== '' && { title: heading };
  const described = before?.['description'] !== undefined && { description: before['description'] };
  const kept = before?.['title'] === undefined ? title : { title: before['title'] };
  const schema = isKept
    ? before
    : { ...SCHEMAS[type], ...kept, ...described, ...(unit !== undefined && { 'x-unit': unit }) };
  const needsValue = isOrdered || (isKept && !declared!.ordered.has(name) && !isNullable(before));
  if (isNullable(schema) !== needsValue) return schema;
  return { ...schema, type: needsValue ? SCHEMAS[type]['type'] : [SCHEMAS[type]['type'], 'null'] };
};

/**
 * Example rows for the documentation. Declared examples are kept, because they are public and may have been edited.
 * Only new columns and columns with a new type get their example from the row.
 */
export const examplesOf = (
  row: Readonly<Record<string, unknown>> | undefined,
  properties: Properties,
  declared: Declared | undefined,
): { readonly examples?: readonly unknown[] } => {
  const examples = declared?.schema['examples'];
  if (!declared || !Array.isArray(examples) || examples.length === 0) return row ? { examples: [row] } : {};
  const isKept = (name: string, value: unknown): boolean =>
    (value !== null || isNullable(properties[name]!)) &&
    typeOf(properties[name]!) === typeOf(declared.properties[name] ?? { type: [] });
  return {
    examples: examples.map((example) =>
      isJsonObject(example)
        ? Object.fromEntries(
            Object.keys(properties).map((name) => [
              name,
              Object.hasOwn(example, name) && isKept(name, example[name]) ? example[name] : (row?.[name] ?? null),
            ]),
          )
        : example,
    ),
  };
};

/** Checks the rules of a declaration that the import does not enforce on its own, such as a minimum. */
export const rowCheck = (schema: JsonSchema, declared: Declared | undefined, problems: Problems) => {
  if (!declared?.hasRules) return undefined;
  const isValid = compileSchema(schema);
  return ({ bytes, ends, lines }: KeyedBlock): void => {
    for (const [i, line] of lines.entries()) {
      const document: unknown = JSON.parse(bytes.toString('utf8', i === 0 ? 0 : ends[i - 1]! + 1, ends[i]));
      if (isValid(document)) continue;
      const errors = schemaErrors(isValid.errors, document).map(({ field, rule }) => `"${field}" ${rule}`);
      problems.refuse([`line ${line}: ${errors.join('; ')}`, declared.advice]);
    }
  };
};

/** A table in CSV (RFC 4180) as a collection: its rows, and what its columns turn out to hold. */
import type { Collection, Document } from '../contracts/dataset.js';
import type { JsonSchema } from '../contracts/json-schema.js';
import { firstLines, OperatorError } from '../errors.js';
import { compileSchema } from '../validation/compile-schema.js';
import { nearest } from '../validation/nearest.js';
import { compareBy } from './scalars.js';

export const COLUMN_TYPES = ['text', 'integer', 'number', 'date', 'boolean'] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

interface Kind {
  readonly schema: JsonSchema;
  readonly needs: string;
  matches(cell: string): boolean;
  value(cell: string): string | number | boolean;
}

const isDate = compileSchema({ type: 'string', format: 'date' });
const WHOLE = /^-?(0|[1-9]\d*)$/;
const DECIMAL = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

const KINDS: Readonly<Record<ColumnType, Kind>> = {
  integer: {
    schema: { type: 'integer' },
    needs: 'a whole number',
    matches: (cell) => WHOLE.test(cell) && Number.isSafeInteger(Number(cell)),
    value: Number,
  },
  number: {
    schema: { type: 'number' },
    needs: 'a number like 12.5',
    matches: (cell) =>
      DECIMAL.test(cell) && Number.isFinite(Number(cell)) && !(WHOLE.test(cell) && !Number.isSafeInteger(Number(cell))),
    value: Number,
  },
  date: {
    schema: { type: 'string', format: 'date' },
    needs: 'a day of the calendar like 2025-12-31',
    matches: (cell) => isDate(cell),
    value: (cell) => cell,
  },
  boolean: {
    schema: { type: 'boolean' },
    needs: 'true or false',
    matches: (cell) => cell === 'true' || cell === 'false',
    value: (cell) => cell === 'true',
  },
  text: { schema: { type: 'string' }, needs: 'text', matches: () => true, value: (cell) => cell },
};

/** Narrowest first. A code with leading zeros is no number, and so its column is text. */
const GUESSES: readonly ColumnType[] = ['integer', 'number', 'date', 'boolean', 'text'];

interface CsvRecord {
  /** 1 for the first line of the file. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** Faults that an error lists, which is enough to find the cause. */
const MOST_FAULTS = 20;

const refuse = (file: string, faults: readonly string[]): never => {
  throw new OperatorError(`${file} was not imported, and nothing was changed:`, firstLines(faults, MOST_FAULTS));
};

/**
 * The records of a text. Cells in quotes may hold separators and line ends; empty lines are passed over.
 * @param onError told the line of quotes that are out of place; the record is left out
 */
export const parseCsv = (
  text: string,
  separator: string,
  onError: (line: number, fault: string) => void,
): CsvRecord[] => {
  const records: CsvRecord[] = [];
  const plain = new RegExp(`[^"${separator}\r\n]*`, 'y');
  const quoted = /"((?:[^"]|"")*)"/y;
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const start = line;
    const cells: string[] = [];
    let isEmpty = true;
    let fault: string | undefined;
    for (;;) {
      const form = text[at] === '"' ? quoted : plain;
      form.lastIndex = at;
      const match = form.exec(text);
      if (!match) {
        onError(start, 'has a quote that is not closed');
        return records;
      }
      at = form.lastIndex;
      if (form === quoted) {
        const inner = match[1]!;
        for (let i = inner.indexOf('\n'); i >= 0; i = inner.indexOf('\n', i + 1)) line++;
        cells.push(inner.includes('"') ? inner.replaceAll('""', '"') : inner);
        isEmpty = false;
      } else {
        cells.push(match[0].trim());
        if (cells[0] !== '') isEmpty = false;
      }
      if (text[at] === separator) {
        at++;
        isEmpty = false;
        continue;
      }
      if (at < text.length && text[at] !== '\r' && text[at] !== '\n') {
        fault = 'has a quote inside a cell: cells with quotes are written in quotes, each quote of theirs twice';
        while (at < text.length && text[at] !== '\n') at++;
      }
      break;
    }
    if (text[at] === '\r' && text[at + 1] === '\n') at++;
    at++;
    line++;
    if (fault) onError(start, fault);
    else if (!isEmpty) records.push({ line: start, cells });
  }
  return records;
};

/** `Permit No.` is `permit_no`: names that keys, parameters and programs can have. */
const fieldName = (heading: string): string => {
  const name = heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  return /^[a-z]/.test(name) ? name : `c_${name}`;
};

interface Column {
  readonly name: string;
  /** As it stands in the file. */
  readonly heading: string;
  readonly type: ColumnType;
  readonly guessed: boolean;
  /** How many cells are empty; they become null. */
  readonly empty: number;
  readonly why?: string;
}

export interface CsvTable {
  readonly collection: Collection;
  readonly columns: readonly Column[];
  /** In the order of the key. */
  readonly rows: readonly Document[];
}

export interface CsvTableOptions {
  /** For messages. */
  readonly file: string;
  readonly name: string;
  readonly key: readonly string[];
  /** Columns to sort and filter by, beside the key. */
  readonly sort: readonly string[];
  /** Types that are not guessed, by column. */
  readonly types: ReadonlyMap<string, ColumnType>;
}

/** @throws OperatorError with every fault, each with its line */
export const tableOfCsv = (text: string, { file, name, key, sort, types }: CsvTableOptions): CsvTable => {
  const faults: string[] = [];
  const fault = (line: number, what: string): void => void faults.push(`line ${line}: ${what}`);
  const [heading = ''] = text.split('\n', 1);
  const separator = [',', ';', '\t'].reduce((best, each) =>
    heading.split(each).length > heading.split(best).length ? each : best,
  );
  const [head, ...records] = parseCsv(text, separator, fault);
  if (!head) return refuse(file, faults.length > 0 ? faults : ['it is empty: its first line must name the columns']);

  const names = head.cells.map(fieldName);
  for (const [i, each] of names.entries()) {
    if (names.indexOf(each) < i)
      fault(head.line, `columns ${names.indexOf(each) + 1} and ${i + 1} are both called "${each}"`);
    if (head.cells[i] === '') fault(head.line, `column ${i + 1} has no name`);
  }
  for (const each of new Set([...key, ...sort, ...types.keys()])) {
    if (names.includes(each)) continue;
    const guess = nearest(each, names);
    faults.push(
      `there is no column "${each}"${guess ? `; did you mean "${guess}"?` : `; it has: ${names.join(', ')}`}`,
    );
  }
  const whole = records.filter(({ line, cells }) => {
    const fits = cells.length === names.length;
    if (!fits) fault(line, `has ${cells.length} cells, and the first line names ${names.length} columns`);
    return fits;
  });
  if (faults.length > 0) return refuse(file, faults);

  const columns = names.map((each, i) => columnOf(each, head.cells[i]!, i, whole, types.get(each), fault));
  const ordered = new Set([...key, ...sort]);
  for (const { name: each, type, empty } of columns) {
    if (!ordered.has(each)) continue;
    const role = key.includes(each) ? 'the key' : 'a column to sort by';
    if (type === 'boolean')
      faults.push(`"${each}" cannot be ${role}, since it is boolean; --type ${each}=text makes it text`);
    if (empty === 0) continue;
    const i = names.indexOf(each);
    for (const { line, cells } of whole)
      if (cells[i] === '') fault(line, `"${each}" is empty, and cannot be as ${role}`);
  }
  if (faults.length > 0) return refuse(file, faults);

  const rows = whole.map(({ line, cells }) => ({
    line,
    row: Object.fromEntries(
      columns.map(({ name: each, type }, i) => [each, cells[i] === '' ? null : KINDS[type].value(cells[i]!)]),
    ) as Document,
  }));
  const compare = compareBy(key);
  rows.sort((a, b) => compare(a.row, b.row) || a.line - b.line);
  for (const [i, { line, row }] of rows.entries()) {
    const before = rows[i - 1];
    if (before && compare(before.row, row) === 0) {
      fault(
        line,
        `has the key of line ${before.line}: ${key.map((each) => `${each} ${JSON.stringify(row[each])}`).join(', ')}`,
      );
    }
  }
  if (faults.length > 0) return refuse(file, faults);
  if (rows.length === 0) return refuse(file, ['it has no rows, by which the types of its columns could be known']);

  const properties = Object.fromEntries(
    columns.map(({ name: each, heading: title, type, empty }) => {
      const { schema } = KINDS[type];
      const nullable = empty > 0 || !ordered.has(each);
      return [
        each,
        { ...schema, ...(nullable && { type: [schema['type'], 'null'] }), ...(title !== each && { title }) },
      ];
    }),
  );
  const isKey = (order: readonly string[]): boolean => order.join() === key.join();
  const orders = sort.map((each) => [each, ...key.filter((field) => field !== each)]).filter((order) => !isKey(order));
  return {
    collection: {
      name,
      key,
      ...(orders.length > 0 && { orders }),
      schema: { type: 'object', required: names, additionalProperties: false, properties, examples: [rows[0]!.row] },
    },
    columns,
    rows: rows.map(({ row }) => row),
  };
};

const columnOf = (
  name: string,
  heading: string,
  index: number,
  records: readonly CsvRecord[],
  given: ColumnType | undefined,
  fault: (line: number, what: string) => void,
): Column => {
  const filled = records.filter(({ cells }) => cells[index] !== '');
  const fits = (type: ColumnType) => filled.every(({ cells }) => KINDS[type].matches(cells[index]!));
  const type = given ?? (filled.length === 0 ? 'text' : GUESSES.find(fits)!);
  if (given) {
    for (const { line, cells } of filled) {
      if (!KINDS[given].matches(cells[index]!)) {
        fault(line, `"${name}" must be ${KINDS[given].needs}, and is ${JSON.stringify(cells[index])}`);
      }
    }
  }
  const zeros = type === 'text' && filled.length > 0 && filled.every(({ cells }) => /^\d+$/.test(cells[index]!));
  const why =
    filled.length === 0 ? 'all cells are empty' : zeros ? 'digits with leading zeros, or too many' : undefined;
  return {
    name,
    heading,
    type,
    guessed: given === undefined,
    empty: records.length - filled.length,
    ...(why && !given && { why }),
  };
};

/** A table in CSV as a collection: its rows, and the types of its columns. */
import type { Collection, Document } from '../contracts/dataset.js';
import type { Scalar } from '../contracts/storage.js';
import { firstLines, OperatorError } from '../errors.js';
import { nearest } from '../validation/nearest.js';
import { ColumnGuess, type ColumnType, KINDS } from './column-types.js';
import { type CsvRecord, CsvSyntaxError, readCsv } from './csv.js';
import { MAX_NAMES } from './ndjson.js';
import { compareScalars } from './scalars.js';

/** Errors that a message lists. They are enough to find the cause. */
const MAX_LISTED = 20;
/** Reading stops here. */
const MAX_ERRORS = 1000;
/** Rows in a batch. */
const BATCH = 1000;

interface Column {
  readonly name: string;
  /** As in the file. */
  readonly heading: string;
  readonly type: ColumnType;
  readonly guessed: boolean;
  /** Number of empty cells. They become null. */
  readonly empty: number;
  /** Why the type is text, where that may be a surprise. */
  readonly why?: string;
}

export interface CsvTable {
  readonly collection: Collection;
  readonly columns: readonly Column[];
  readonly rowCount: number;
  /** The rows in key order, in batches. May be called more than once. */
  rows(): Iterable<readonly Document[]>;
}

export interface CsvTableOptions {
  /** For messages. */
  readonly file: string;
  readonly name: string;
  readonly key: readonly string[];
  /** Columns to sort and filter by, in addition to the key. */
  readonly sort: readonly string[];
  /** Types by column name. The type of any other column is guessed. */
  readonly types: ReadonlyMap<string, ColumnType>;
}

/** A record with the values of its key. */
interface Row extends CsvRecord {
  readonly key: readonly Scalar[];
}

/** The errors of a file. */
class TableErrors {
  readonly #found: string[] = [];

  constructor(readonly file: string) {}

  add(line: number, what: string): void {
    this.#found.push(`line ${line}: ${what}`);
    if (this.#found.length >= MAX_ERRORS) this.throwIfAny();
  }

  throwIfAny(): void {
    if (this.#found.length > 0) this.refuse(...this.#found);
  }

  refuse(...errors: readonly string[]): never {
    throw new OperatorError(`${this.file} was not imported, and nothing was changed:`, firstLines(errors, MAX_LISTED));
  }
}

/** `Permit No.` becomes `permit_no`: a name for keys, parameters and programs. */
const fieldName = (heading: string): string => {
  const name = heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  return /^[a-z]/.test(name) ? name : `c_${name}`;
};

/** The names of the columns. @throws OperatorError */
const readHead = ({ line, cells }: CsvRecord, options: CsvTableOptions, errors: TableErrors): readonly string[] => {
  if (cells.length > MAX_NAMES) {
    const [found, most] = [cells.length, MAX_NAMES].map((number) => number.toLocaleString('en-US'));
    errors.refuse(`line ${line}: has ${found} columns; a table has at most ${most}`);
  }
  const names = cells.map(fieldName);
  const first = new Map<string, number>();
  for (const [i, name] of names.entries()) {
    const before = first.get(name);
    if (before === undefined) first.set(name, i);
    else errors.add(line, `columns ${before + 1} and ${i + 1} are both called "${name}"`);
    if (cells[i] === '') errors.add(line, `column ${i + 1} has no name`);
  }
  errors.throwIfAny();
  const wanted = new Set([...options.key, ...options.sort, ...options.types.keys()]);
  const missing = [...wanted].filter((name) => !first.has(name));
  if (missing.length > 0) errors.refuse(...missing.map((name) => unknownColumn(name, names)));
  return names;
};

const unknownColumn = (name: string, names: readonly string[]): string => {
  const guess = nearest(name, names);
  const shown = names.length > MAX_LISTED ? `${names.slice(0, MAX_LISTED).join(', ')}, ...` : names.join(', ');
  return `there is no column "${name}"${guess ? `; did you mean "${guess}"?` : `; it has: ${shown}`}`;
};

/** Reads the records below the head, and finds the types of their columns. */
class Body {
  readonly records: CsvRecord[] = [];
  readonly #head: CsvRecord;
  readonly #names: readonly string[];
  readonly #options: CsvTableOptions;
  readonly #errors: TableErrors;
  readonly #guesses: readonly ColumnGuess[];
  readonly #ordered: ReadonlySet<string>;

  constructor(head: CsvRecord, options: CsvTableOptions, errors: TableErrors) {
    this.#head = head;
    this.#options = options;
    this.#errors = errors;
    this.#names = readHead(head, options, errors);
    this.#guesses = this.#names.map(() => new ColumnGuess());
    this.#ordered = new Set([...options.key, ...options.sort]);
  }

  add(record: CsvRecord): void {
    const { line, cells } = record;
    if (cells.length !== this.#names.length) {
      this.#errors.add(line, `has ${cells.length} cells, and the first line names ${this.#names.length} columns`);
      return;
    }
    for (let i = 0; i < cells.length; i++) this.#addCell(line, i, cells[i]!);
    this.records.push(record);
  }

  #addCell(line: number, i: number, cell: string): void {
    const name = this.#names[i]!;
    this.#guesses[i]!.add(cell);
    if (cell === '') {
      if (this.#ordered.has(name)) this.#errors.add(line, `"${name}" is empty: ${this.#roleOf(name)} needs a value`);
      return;
    }
    const given = this.#options.types.get(name);
    if (given && !KINDS[given].matches(cell)) {
      this.#errors.add(line, `"${name}" must be ${KINDS[given].needs}, and is ${JSON.stringify(cell)}`);
    }
  }

  #roleOf(name: string): string {
    return this.#options.key.includes(name) ? 'a key' : 'a column to sort by';
  }

  /** @throws OperatorError */
  finish(): { readonly columns: readonly Column[]; readonly rows: readonly Row[] } {
    this.#errors.throwIfAny();
    if (this.records.length === 0)
      this.#errors.refuse('it has no rows: the types of its columns are guessed from them');
    const columns = this.#names.map((name, i) => this.#columnOf(name, i));
    const wrong = columns.filter(({ name, type }) => type === 'boolean' && this.#ordered.has(name));
    if (wrong.length > 0) {
      const advice = ({ name }: Column) =>
        `"${name}" is boolean and cannot be ${this.#roleOf(name)}; --type ${name}=text makes it text`;
      this.#errors.refuse(...wrong.map(advice));
    }
    return { columns, rows: this.#sorted(columns) };
  }

  #columnOf(name: string, i: number): Column {
    const guess = this.#guesses[i]!;
    const given = this.#options.types.get(name);
    const { reason } = guess;
    return {
      name,
      heading: this.#head.cells[i]!,
      type: given ?? guess.type,
      guessed: given === undefined,
      empty: guess.empty,
      ...(reason && !given && { why: reason }),
    };
  }

  /** The rows in key order. @throws OperatorError if a key occurs twice */
  #sorted(columns: readonly Column[]): readonly Row[] {
    const fields = this.#options.key.map((name) => this.#names.indexOf(name));
    const rows = this.records.map(
      ({ line, cells }): Row => ({
        line,
        cells,
        key: fields.map((i) => KINDS[columns[i]!.type].value(cells[i]!) as Scalar),
      }),
    );
    rows.sort((a, b) => compareKeys(a.key, b.key) || a.line - b.line);
    for (const [i, { line, key }] of rows.entries()) {
      const before = rows[i - 1];
      if (!before || compareKeys(before.key, key) !== 0) continue;
      const values = this.#options.key.map((name, at) => `${name} ${JSON.stringify(key[at])}`);
      this.#errors.add(line, `has the key of line ${before.line}: ${values.join(', ')}`);
    }
    this.#errors.throwIfAny();
    return rows;
  }
}

const compareKeys = (a: readonly Scalar[], b: readonly Scalar[]): number => {
  for (let i = 0; i < a.length; i++) {
    const order = compareScalars(a[i]!, b[i]!);
    if (order !== 0) return order;
  }
  return 0;
};

const documentOf = (columns: readonly Column[], { cells }: CsvRecord): Document =>
  Object.fromEntries(columns.map(({ name, type }, i) => [name, cells[i] === '' ? null : KINDS[type].value(cells[i]!)]));

const collectionOf = (columns: readonly Column[], example: Document, options: CsvTableOptions): Collection => {
  const { name, key, sort } = options;
  const ordered = new Set([...key, ...sort]);
  const properties = Object.fromEntries(
    columns.map(({ name: column, heading, type, empty }) => {
      const { schema } = KINDS[type];
      const isNullable = empty > 0 || !ordered.has(column);
      const types = isNullable && { type: [schema['type'], 'null'] };
      return [column, { ...schema, ...types, ...(heading !== column && { title: heading }) }];
    }),
  );
  const orders = sort
    .map((column) => [column, ...key.filter((field) => field !== column)])
    .filter((order) => order.join() !== key.join());
  const required = columns.map((column) => column.name);
  return {
    name,
    key,
    ...(orders.length > 0 && { orders }),
    schema: { type: 'object', required, additionalProperties: false, properties, examples: [example] },
  };
};

/** @throws OperatorError with the first errors of the file, each with its line */
export const readCsvTable = async (bytes: AsyncIterable<Uint8Array>, options: CsvTableOptions): Promise<CsvTable> => {
  const errors = new TableErrors(options.file);
  let body: Body | undefined;
  try {
    for await (const records of readCsv(bytes)) {
      for (const record of records) {
        if (body) body.add(record);
        else body = new Body(record, options, errors);
      }
    }
  } catch (error) {
    if (!(error instanceof CsvSyntaxError)) throw error;
    errors.add(error.line, error.message);
    errors.throwIfAny();
  }
  if (!body) return errors.refuse('it is empty: its first line must name the columns');
  const { columns, rows } = body.finish();
  return {
    collection: collectionOf(columns, documentOf(columns, rows[0]!), options),
    columns,
    rowCount: rows.length,
    *rows() {
      for (let start = 0; start < rows.length; start += BATCH) {
        yield rows.slice(start, start + BATCH).map((row) => documentOf(columns, row));
      }
    },
  };
};

import type { Collection } from '../../contracts/dataset.js';
import { firstLines, OperatorError } from '../../errors.js';
import { counted } from '../../util/counted.js';
import { blocksOf, type Key, keyedRows, RowWriter } from './cells.js';
import { CsvSyntaxError } from './csv.js';
import { examplesOf, ordersOf, propertyOf, rowCheck, withDeclaration } from './declared.js';
import { type Column, FirstPass, isRowNumber, type ReadColumn, type TableOptions } from './first-pass.js';
import { inKeyOrder, type OnRepeated, OutOfOrder } from './key-order.js';
import { Problems } from './problems.js';
import type { RowBlock } from './row-block.js';
import { type OpenedTable, openTable, type Row } from './rows.js';
import { sortRows } from './sort-rows.js';
import { EncodingError } from './text.js';

export type { Key } from './cells.js';
export type { Column, TableOptions } from './first-pass.js';

export interface ReadTable {
  readonly columns: readonly Column[];
  readonly rowCount: number;
  readonly found: readonly string[];
  readonly notes: readonly string[];
  readonly keys: readonly Key[];
  collection(key: Key): Collection;
  /**
   * @param folder for temporary files; if undefined, the file must already be in key order
   * @param fields fields whose values are returned in addition to the JSON of each row
   * @throws OutOfOrder, RepeatedKey, SampleError
   */
  rows(key: Key, folder: string | undefined, fields?: readonly string[]): AsyncGenerator<RowBlock>;
}

export class SampleError extends Error {}

const SAMPLE = 20_000;

export class RepeatedKey extends OperatorError {}

const numberField = (columns: readonly Column[]): string => {
  const taken = columns.map(({ name }) => name);
  return ['row', 'row_number'].find((name) => !taken.includes(name)) ?? `row_${taken.length + 1}`;
};

const noRows = ({ headings, format }: OpenedTable): readonly string[] => [
  `it has headings but no rows: ${firstLines(
    headings.map((heading) => JSON.stringify(heading)),
    5,
  ).join(', ')}`,
  ...(format === 'csv' || format === 'xlsx' ? ['add a row, or use --header none if these cells are a row'] : []),
];

class ImportedTable implements ReadTable {
  readonly #opened: OpenedTable;
  readonly #options: TableOptions;
  readonly #problems: Problems;
  readonly #pass: FirstPass;
  readonly #isSample: boolean;
  columns: readonly ReadColumn[] = [];
  keys: readonly Key[] = [];
  #example: string | undefined;

  constructor(opened: OpenedTable, options: TableOptions, pass: FirstPass, problems: Problems) {
    this.#opened = opened;
    this.#options = options;
    this.#problems = problems;
    this.#pass = pass;
    this.#isSample = !pass.isWhole;
    this.#conclude();
  }

  #conclude(): void {
    this.#assertNoBadRows();
    if (this.rowCount === 0) this.#problems.refuse([...this.#problems.notes, ...noRows(this.#opened)]);
    this.columns = this.#pass.columns(this.#options);
    this.keys = this.#keys();
    this.#assertOrders();
  }

  #assertNoBadRows(): void {
    if (!this.#options.skipBadRows) this.#problems.throwBadRows();
  }

  get rowCount(): number {
    return this.#pass.rowCount;
  }

  get found(): readonly string[] {
    return this.#opened.found;
  }

  get notes(): readonly string[] {
    const { declared } = this.#options;
    const added = declared ? this.columns.filter(({ name }) => !Object.hasOwn(declared.properties, name)) : [];
    return [
      ...added.map(({ name }) => `the new column "${name}" was added to the declaration`),
      ...this.#pass.notes,
      ...this.#problems.notes,
    ];
  }

  #named(name: string): ReadColumn | undefined {
    return this.columns.find((column) => column.name === name) ?? this.columns.find(({ heading }) => heading === name);
  }

  #keys(): readonly Key[] {
    const { key, declared } = this.#options;
    const numbered = { columns: [numberField(this.columns)], isNumbered: true };
    if (declared?.isNumbered || (key && isRowNumber(key) && !this.#named('row'))) return [numbered];
    if (key) return [{ columns: this.#namesOf(key), isNumbered: false }];
    const byPosition = new Map(this.columns.map((column) => [column.at, column]));
    const positions = this.#pass.search.candidates(
      Array.from({ length: this.#pass.names.length }, (_, at) => {
        const column = byPosition.get(at);
        return { name: column?.name ?? '', type: column?.type ?? 'number', hasGaps: (column?.empty ?? 1) > 0 };
      }),
    );
    const nameAt = (at: number): string => byPosition.get(at)!.name;
    const found = positions.map((each) => ({ columns: each.map(nameAt), isNumbered: false }));
    return [...found, numbered];
  }

  #namesOf(given: readonly string[]): readonly string[] {
    return given.map((name) => this.#named(name)?.name ?? name);
  }

  #assertOrders(): void {
    const key = this.#options.key ? this.keys[0]! : { columns: [], isNumbered: false };
    const errors = [...new Set([...(key.isNumbered ? [] : key.columns), ...this.#namesOf(this.#options.sort)])].flatMap(
      (name) => {
        const column = this.#named(name);
        const role = key.columns.includes(name) ? 'a key' : 'a column to sort by';
        if (!column) return [`"${name}" has no values: ${role} needs values`];
        if (column.empty > 0) return [this.#emptyError(column, role)];
        return column.type === 'boolean'
          ? [`"${name}" is boolean and cannot be ${role}; --type ${name}=text makes it text`]
          : [];
      },
    );
    const all = [...errors, ...this.#searchErrors()];
    if (all.length > 0) this.#problems.refuse([...all, ...this.#advice]);
  }

  get #advice(): readonly string[] {
    const { declared } = this.#options;
    return declared ? [declared.advice] : [];
  }

  #searchErrors(): readonly string[] {
    return this.#namesOf(this.#options.search).flatMap((name) => {
      const isText = this.#named(name)?.type === 'text';
      return isText ? [] : [`"${name}" has no text to search; --type ${name}=text makes it text`];
    });
  }

  #emptyError({ name, empty, type, guessed }: ReadColumn, role: string): string {
    // If the type of a column was guessed, --skip-bad-rows keeps rows with a marker such as NA. With --type, it skips
    // such rows.
    const typed = guessed && this.#options.skipBadRows ? `--type ${name}=${type} with ` : '';
    const others = role === 'a key' ? 'name other columns with --key' : 'leave it out of --sort';
    return (
      `"${name}" is empty in ${counted(empty, 'row')}: ${role} needs a value in every row; ${others}, ` +
      `or skip such rows with ${typed}--skip-bad-rows`
    );
  }

  collection(key: Key): Collection {
    const { declared } = this.#options;
    const sort = this.#namesOf(this.#options.sort);
    const ordered = new Set([...key.columns, ...sort]);
    const properties = Object.fromEntries(
      this.columns.map((column) => [column.name, propertyOf(column, declared, ordered.has(column.name))]),
    );
    const number = key.isNumbered && {
      [key.columns[0]!]: declared?.properties[key.columns[0]!] ?? {
        type: 'integer',
        description: 'The row number in the file.',
      },
    };
    const leads = declared?.leads.map((lead) => this.#namesOf(lead)) ?? sort.map((column) => [column]);
    const orders = ordersOf(leads, key.columns);
    const search = this.#namesOf(this.#options.search);
    const all = { ...number, ...properties };
    return {
      name: this.#options.name,
      key: key.columns,
      ...(orders.length > 0 && { orders }),
      ...(search.length > 0 && { search }),
      schema: {
        type: 'object',
        ...declared?.schema,
        required: Object.keys(all),
        additionalProperties: false,
        properties: all,
        ...examplesOf(this.#example === undefined ? undefined : JSON.parse(this.#example), all, declared),
      },
    };
  }

  async *rows(key: Key, folder: string | undefined, fields: readonly string[] = []): AsyncGenerator<RowBlock> {
    const { missing, names } = this.#pass;
    const writerOf = (columns: readonly ReadColumn[], written: readonly string[]) =>
      new RowWriter(columns, { width: names.length, key, fields: written, missing });
    const keyColumns = this.columns.filter(({ name }) => key.columns.includes(name));
    const check = rowCheck(this.collection(key).schema, this.#options.declared, this.#problems);
    this.#example = undefined;
    try {
      const rows = this.#goodRows();
      const ordered =
        folder === undefined || key.isNumbered
          ? rows
          : sortRows(keyedRows(rows, writerOf(keyColumns, [])), folder, this.#opened.dialect);
      for await (const block of inKeyOrder(blocksOf(ordered, writerOf(this.columns, fields)), this.#refuseKey(key))) {
        check?.(block);
        this.#example ??= block.bytes.toString('utf8', 0, block.ends[0]);
        yield block;
      }
    } catch (cause) {
      // After OutOfOrder, the sample is still valid. The next call sorts the rows, and adds the rows that this call has
      // not read.
      throw this.#isSample && !(cause instanceof OutOfOrder)
        ? new SampleError('the sample is misleading', { cause })
        : cause;
    }
  }

  #refuseKey({ columns }: Key): OnRepeated {
    return (key, line, otherLine) => {
      const shown = columns.map((name, i) => `${name} ${JSON.stringify(key[i])}`).join(', ');
      const error = `line ${line}: has the same key as line ${otherLine}: ${shown}`;
      return this.#problems.refuse([error, ...this.#advice], RepeatedKey);
    };
  }

  /** @throws SampleError after the last row, if the types or the key that the sample suggests are wrong */
  async *#goodRows(): AsyncGenerator<readonly Row[]> {
    const layout = (): string => JSON.stringify([this.columns.map(({ at, notation }) => [at, notation]), this.keys[0]]);
    const assumed = layout();
    let position = 0;
    const isGood = (row: Row): boolean => {
      if (position === this.#pass.position) this.#pass.add(row);
      if (!this.#pass.isBad(position++)) return true;
      this.#assertNoBadRows();
      return false;
    };
    for await (const batch of this.#opened.rows()) {
      this.#options.signal?.throwIfAborted();
      yield batch.filter(isGood);
    }
    if (this.#pass.isWhole) return;
    this.#pass.isWhole = true;
    this.#conclude();
    if (layout() !== assumed) throw new SampleError();
  }
}

const tableOf = async (opened: OpenedTable, options: TableOptions, limit: number): Promise<ReadTable> => {
  const problems = new Problems(options.file);
  const all = options.declaration ? withDeclaration(options, options.declaration, opened.headings, problems) : options;
  const pass = new FirstPass(opened, all, problems);
  await pass.read(opened, limit, all.signal);
  return new ImportedTable(opened, all, pass, problems);
};

/**
 * @param isWhole true to read the whole file first. If false, only a sample is read, and `rows` throws SampleError if a
 *   later row does not fit
 * @throws OperatorError that lists the first errors with their line numbers, and errors from `node:fs`
 */
export const readTable = async (path: string, options: TableOptions, isWhole = false): Promise<ReadTable> => {
  try {
    const opened = await openTable(path, options);
    if (!isWhole) {
      const table = await tableOf(opened, options, SAMPLE).catch(() => undefined);
      if (table) return table;
    }
    return await tableOf(opened, options, Number.POSITIVE_INFINITY);
  } catch (error) {
    if (error instanceof EncodingError && error.mayBeOther && options.encoding === undefined) {
      return await readTable(path, { ...options, encoding: 'windows-1252', isEncodingAssumed: true }, isWhole);
    }
    if (error instanceof CsvSyntaxError) {
      return new Problems(options.file).refuse([
        `line ${error.line}: ${error.message}`,
        error.isQuoted
          ? 'add the quote, or use --quote none if quotes belong to the text'
          : 'shorten or remove the row',
      ]);
    }
    throw error;
  }
};

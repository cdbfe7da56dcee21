import type { ByteWriter, SchemaElement } from 'hyparquet-writer';
import type { Column, Format, Row } from '../contracts/format.js';
import { JsonFields, valueIn } from '../data/json-fields.js';
import { forEachText, textOf } from '../data/lazy-rows.js';
import { ResponseError } from './formats.js';

/**
 * Encoding a row group of this many values blocks the event loop for 4 to 6 ms. Larger groups would make files smaller.
 */
const GROUP_VALUES = 20_000;

const DAY_MS = 24 * 3600 * 1000;

interface ColumnType {
  readonly element: Pick<SchemaElement, 'type' | 'converted_type' | 'logical_type'>;
  readonly valueOf: (value: unknown) => string | number | bigint | boolean | undefined;
}

const TYPES: Readonly<Record<Column['type'], ColumnType>> = {
  string: {
    element: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
    valueOf: (value) => (typeof value === 'string' ? value : undefined),
  },
  date: {
    element: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
    valueOf(value) {
      const days = typeof value === 'string' ? Date.parse(value) / DAY_MS : undefined;
      return Number.isInteger(days) ? days : undefined;
    },
  },
  'date-time': {
    element: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MILLIS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    },
    valueOf(value) {
      const milliseconds = typeof value === 'string' ? Date.parse(value) : Number.NaN;
      return Number.isNaN(milliseconds) ? undefined : BigInt(milliseconds);
    },
  },
  integer: {
    element: { type: 'INT64' },
    valueOf: (value) => (Number.isSafeInteger(value) ? BigInt(value as number) : undefined),
  },
  number: {
    element: { type: 'DOUBLE' },
    // JSON has no negative zero. Adding zero turns -0 into 0.
    valueOf: (value) => (Number.isFinite(value) ? (value as number) + 0 : undefined),
  },
  boolean: {
    element: { type: 'BOOLEAN' },
    valueOf: (value) => (typeof value === 'boolean' ? value : undefined),
  },
  // JSON values have the column type text, because Parquet readers return JSON columns as bytes.
  json: {
    element: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
    valueOf: (value) => JSON.stringify(value),
  },
};

type Value = ReturnType<ColumnType['valueOf']>;

const parquetValue = ({ name, type, optional }: Column, given: unknown): Value => {
  if (optional && (given === undefined || given === null)) return undefined;
  const value = TYPES[type].valueOf(given);
  if (value === undefined) {
    const shown = typeof given === 'number' ? String(given) : JSON.stringify(given);
    throw new ResponseError(`it has ${shown} at /${name}, but its schema requires the type ${type}`);
  }
  return value;
};

class RowGroup {
  readonly #columns: readonly Column[];
  readonly #fields: JsonFields;
  readonly #data: Value[][];

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
    this.#fields = new JsonFields(columns.map(({ name }) => name));
    this.#data = columns.map(() => []);
  }

  get rows(): number {
    return this.#data[0]!.length;
  }

  add(rows: readonly Row[], added: () => void): void {
    const text = textOf(rows);
    if (!text) {
      for (const row of rows) {
        this.#add(({ name }) => (Object.hasOwn(row, name) ? row[name] : undefined));
        added();
      }
      return;
    }
    const { starts, ends } = this.#fields;
    forEachText(text, (json, start) => {
      this.#fields.find(json, start);
      this.#add((_, i) => (ends[i] === 0 ? undefined : valueIn(json, starts[i]!, ends[i]!)));
      added();
    });
  }

  take(): { readonly name: string; readonly data: Value[] }[] {
    return this.#columns.map(({ name }, i) => ({ name, data: this.#data[i]!.splice(0) }));
  }

  #add(read: (column: Column, i: number) => unknown): void {
    for (const [i, column] of this.#columns.entries()) this.#data[i]!.push(parquetValue(column, read(column, i)));
  }
}

const take = (bytes: ByteWriter): Buffer => {
  const taken = Buffer.from(bytes.getBytes());
  bytes.index = 0;
  return taken;
};

const schemaOf = (columns: readonly Column[]): SchemaElement[] => [
  { name: 'row', num_children: columns.length },
  ...columns.map(
    ({ name, type, optional }): SchemaElement => ({
      name,
      ...TYPES[type].element,
      repetition_type: optional ? 'OPTIONAL' : 'REQUIRED',
    }),
  ),
];

/**
 * All row groups of a Parquet file except the last have the same number of rows, so that equal lists result in equal
 * bytes. There is no formula guard, because spreadsheets do not run text from Parquet files as formulas.
 */
export const parquetFormat: Format = {
  name: 'parquet',
  mediaTypes: ['application/vnd.apache.parquet'],
  description: 'Apache Parquet, compressed with Snappy. The columns are the properties of the rows.',
  isCompressed: true,
  async *write(rows, columns) {
    const { ByteWriter, ParquetWriter } = await import('hyparquet-writer');
    const bytes = new ByteWriter();
    // Statistics are useful only to clients that read parts of a file, which this service does not support.
    const file = new ParquetWriter({ writer: bytes, statistics: false, schema: schemaOf(columns) });
    const groupRows = Math.ceil(GROUP_VALUES / columns.length);
    const group = new RowGroup(columns);
    const writeGroup = (): void => void file.write({ columnData: group.take(), rowGroupSize: groupRows });
    const writeIfFull = (): void => {
      if (group.rows === groupRows) writeGroup();
    };
    for await (const batch of rows) {
      group.add(batch, writeIfFull);
      yield take(bytes);
    }
    if (group.rows > 0) writeGroup();
    file.finish();
    yield take(bytes);
  },
};

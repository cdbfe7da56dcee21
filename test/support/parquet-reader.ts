import { parquetMetadata, parquetReadObjects } from 'hyparquet';

interface ParquetFile {
  /**
   * Rows with the same values as in JSON: integers are numbers, dates and times are strings, and missing values are
   * null.
   */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly columns: readonly string[];
  readonly codecs: ReadonlySet<string>;
  readonly groupRows: readonly number[];
}

export const readParquet = async (bytes: Uint8Array): Promise<ParquetFile> => {
  const file = new Uint8Array(bytes).buffer;
  const { schema, row_groups } = parquetMetadata(file);
  const leaves = schema.slice(1);
  const dates = new Set(leaves.filter(({ logical_type }) => logical_type?.type === 'DATE').map(({ name }) => name));
  const value = (name: string, given: unknown): unknown => {
    if (typeof given === 'bigint') return Number(given);
    if (given instanceof Date) return given.toISOString().slice(0, dates.has(name) ? 10 : undefined);
    return given ?? null;
  };
  return {
    rows: (await parquetReadObjects({ file })).map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, given]) => [name, value(name, given)])),
    ),
    columns: leaves.map(
      ({ name, type, logical_type, repetition_type }) => `${name} ${logical_type?.type ?? type} ${repetition_type}`,
    ),
    codecs: new Set(row_groups.flatMap(({ columns }) => columns.map(({ meta_data }) => meta_data!.codec))),
    groupRows: row_groups.map(({ num_rows }) => Number(num_rows)),
  };
};

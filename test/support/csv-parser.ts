/** A strict parser of RFC 4180. Throws if the text violates the grammar or a record does not end with CRLF. */
export const parseCsv = (text: string): string[][] => {
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  const records: string[][] = [];
  let record: string[] = [];
  while (field.lastIndex < text.length) {
    const at = field.lastIndex;
    const [, quoted, plain, end] = field.exec(text) ?? [];
    if (end === undefined) throw new Error(`Not RFC 4180 at ${at}: ${JSON.stringify(text.slice(at, at + 50))}`);
    record.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === ',') continue;
    records.push(record);
    record = [];
  }
  if (record.length > 0) throw new Error('The last record has no end');
  return records;
};

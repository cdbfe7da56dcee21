/** Tells the format of a file to import by its first bytes. */
import { splitRow } from './csv.js';

export type FileKind = 'fhfa-metro' | 'fhfa-purchase-only' | 'fred';

/** What can be imported, for messages. */
export const EXPECTED =
  "FHFA's all-transactions index by metro (hpi_at_metro.csv: name, code, year, quarter, index, error; no header) " +
  'or a FRED series (header "observation_date,<SERIES>", "DATE,<SERIES>" or "date,value")';

/** How many bytes at the start of a file are inspected. */
const HEAD = 4096;

const isFhfaRow = (cells: readonly string[] | undefined): boolean =>
  cells?.length === 6 && /^\d{4}$/.test(cells[2] as string) && /^\d$/.test(cells[3] as string);

/** The kind of the file that begins with this text; undefined when it is none of them. */
export const recognize = (head: string): FileKind | undefined => {
  const rows = head
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map(splitRow);
  const header = rows[0]?.map((cell) => cell.toLowerCase()) ?? [];
  if (header.length === 2 && (header[0] === 'date' || header[0] === 'observation_date')) return 'fred';
  if (header[0] === 'cbsa' && header[1] === 'metro_name') return 'fhfa-purchase-only';
  // One good row is enough: bad rows are reported later, as bad rows.
  return rows.some(isFhfaRow) ? 'fhfa-metro' : undefined;
};

export interface Peeked {
  /** The first bytes as text, without BOM. */
  readonly head: string;
  /** The stream from its beginning. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** To be called instead of reading `bytes` to the end. */
  close(): Promise<void>;
}

export const peek = async (bytes: AsyncIterable<Uint8Array>): Promise<Peeked> => {
  const rest = bytes[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  for (let length = 0; length < HEAD; ) {
    const { done, value } = await rest.next();
    if (done === true) break;
    chunks.push(value);
    length += value.length;
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    yield* chunks;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
  return {
    head: new TextDecoder().decode(Buffer.concat(chunks).subarray(0, HEAD)),
    bytes: all(),
    close: async () => void (await rest.return?.()),
  };
};

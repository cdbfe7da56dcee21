/** Recognizes the format of a file by its first bytes. */
import { type Row, rowsOf } from './csv.js';

export type FileKind = 'fhfa-metro' | 'fhfa-purchase-only' | 'fred';

/** What can be imported, for messages. */
export const EXPECTED =
  "FHFA's all-transactions index by metro (hpi_at_metro.csv: name, code, year, quarter, index, error; no header) " +
  'or series of FRED (header "observation_date,<SERIES>,...", "DATE,<SERIES>,..." or "date,value")';

/** Bytes at the start of a file that are inspected. */
const HEAD = 4096;

const isFredId = (name: string): boolean => /^[A-Z0-9][A-Z0-9_.-]*$/.test(name);

const isFhfaRow = ({ cells }: Row): boolean =>
  cells.length === 6 && /^\d{4}$/.test(cells[2] as string) && /^\d$/.test(cells[3] as string);

/** The kind of a file that starts with this text; undefined for other formats. */
export const recognize = (head: string): FileKind | undefined => {
  const rows = rowsOf(head);
  const names = rows[0]?.cells ?? [];
  const header = names.map((cell) => cell.toLowerCase());
  const isDated = header[0] === 'date' || header[0] === 'observation_date';
  // Several lower-case columns indicate a table of another publisher.
  if (isDated && (names.length === 2 || (names.length > 2 && names.slice(1).every(isFredId)))) return 'fred';
  if (header[0] === 'cbsa' && header[1] === 'metro_name') return 'fhfa-purchase-only';
  // One good row is enough. Bad rows are reported later.
  return rows.some(isFhfaRow) ? 'fhfa-metro' : undefined;
};

export interface Peeked {
  /** The first bytes as text, without BOM. */
  readonly head: string;
  /** The whole stream. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Call it instead of reading `bytes` to the end. */
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

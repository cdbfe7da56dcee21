import { type Row, rowsOf } from './csv.js';
import { FRED_ID } from './fred.js';

export type FileKind = 'fhfa-metro' | 'fhfa-purchase-only' | 'fred';

export const EXPECTED =
  "FHFA's all-transactions index by metro (hpi_at_metro.csv: name, code, year, quarter, index, error; no header) " +
  'or FRED series (header "observation_date,<SERIES>,...", "DATE,<SERIES>,..." or "date,value")';

/** Number of bytes read from the start of a file to recognize its format. */
const HEAD = 4096;

const isFhfaRow = ({ cells }: Row): boolean =>
  cells.length === 6 && /^\d{4}$/.test(cells[2]!) && /^\d$/.test(cells[3]!);

export const recognize = (head: string): FileKind | undefined => {
  const rows = rowsOf(head);
  const names = rows[0]?.cells ?? [];
  const header = names.map((cell) => cell.toLowerCase());
  const isDated = header[0] === 'date' || header[0] === 'observation_date';
  // With more than two columns, all columns after the date must have FRED ids, which are in upper case.
  if (isDated && (names.length === 2 || (names.length > 2 && names.slice(1).every((name) => FRED_ID.test(name)))))
    return 'fred';
  if (header[0] === 'cbsa' && header[1] === 'metro_name') return 'fhfa-purchase-only';
  return rows.some(isFhfaRow) ? 'fhfa-metro' : undefined;
};

interface Peeked {
  readonly head: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Closes the file. Must be called unless `bytes` is read to the end. */
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

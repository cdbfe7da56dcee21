import type { Column, Format, Row } from '../../core/contracts/format.js';

export const piecesOf = async (
  format: Format,
  columns: readonly (Column | string)[],
  ...batches: readonly (readonly object[])[]
): Promise<Buffer[]> => {
  const typed = columns.map(
    (column): Column => (typeof column === 'string' ? { name: column, type: 'json', optional: true } : column),
  );
  async function* rows() {
    for (const batch of batches) if (batch.length > 0) yield batch as readonly Row[];
  }
  const pieces: Buffer[] = [];
  for await (const piece of format.write(rows(), typed)) pieces.push(Buffer.from(piece));
  return pieces;
};

export const writtenList = async (...list: Parameters<typeof piecesOf>): Promise<Buffer> =>
  Buffer.concat(await piecesOf(...list));

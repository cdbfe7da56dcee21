/** CSV records and their lines. */
import { expect } from 'chai';
import fc from 'fast-check';
import { type CsvRecord, readCsv } from '../../../core/data/csv.js';
import { inChunks } from './chunks.js';

const recordsOf = async (text: string, size?: number): Promise<CsvRecord[]> => {
  const records: CsvRecord[] = [];
  for await (const batch of readCsv(inChunks(text, size))) records.push(...batch);
  return records;
};
const cellsOf = async (text: string) => (await recordsOf(text)).map(({ cells }) => cells);

describe('readCsv(bytes)', () => {
  it('reads the format of RFC 4180, with LF or CRLF', async () => {
    const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r\n', ' ', 'é', '=') });
    const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }));
    await fc.assert(
      fc.asyncProperty(table, fc.constantFrom('\n', '\r\n'), async (rows, end) => {
        const line = (row: readonly string[]) => row.map((each) => `"${each.replaceAll('"', '""')}"`).join(',') + end;
        expect(await cellsOf(rows.map(line).join(''))).to.deep.equal(rows);
      }),
    );
  });

  it('skips blank lines, and needs no line end at the end', async () => {
    expect(await cellsOf('a,b\n\n\r\n  \n1,2')).to.deep.equal([
      ['a', 'b'],
      ['1', '2'],
    ]);
  });

  it('returns the first line of each record, also after line breaks in quotes', async () => {
    const lines = async (text: string) => (await recordsOf(text)).map(({ line }) => line);
    expect(await lines('"a\nb"\nc')).to.deep.equal([1, 3]);
    expect(await lines('a\rb\rc')).to.deep.equal([1, 2, 3]);
    expect(await lines('"a\r\nb\r\n"\r\n\r\nc\r\n')).to.deep.equal([1, 5]);
  });

  it('reads the same records for any chunk boundaries', async () => {
    const text = '\ufeffName,"Größe, ""cm"""\r\n"Mayagüez\nPR",1\r\n😀,2\r\n';
    const whole = await recordsOf(text);
    expect(whole.map(({ cells }) => cells)).to.deep.equal([
      ['Name', 'Größe, "cm"'],
      ['Mayagüez\nPR', '1'],
      ['😀', '2'],
    ]);
    for (let size = 12; size < 40; size++)
      expect(await recordsOf(text, size), `chunks of ${size}`).to.deep.equal(whole);
  });
});

import { expect } from 'chai';
import { readRows } from '../../../../plugins/metro/import/csv.js';
import { ImportErrors } from '../../../../plugins/metro/import/import-errors.js';

const inChunks = async function* (bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
};

const read = async (text: string, size = 7) => {
  const errors = new ImportErrors();
  const rows = [];
  for await (const batch of readRows(inChunks(Buffer.from(text), size), 'f.csv', errors)) rows.push(...batch);
  return { rows: rows.map(({ line, cells }) => [line, ...cells]), errors: errors.listRows() };
};

describe('readRows(bytes, file, errors)', () => {
  it('reads byte order marks, LF and CRLF, quotes, blank lines, and a last line without a line ending', async () => {
    expect(await read('\ufeff"Abilene, TX",10180,( 2.62)\r\n\r\n"a ""b""", -,\nlast,1,2')).to.deep.equal({
      rows: [
        [1, 'Abilene, TX', '10180', '( 2.62)'],
        [3, 'a "b"', '-', ''],
        [4, 'last', '1', '2'],
      ],
      errors: [],
    });
  });

  it('loses no row after a row with misplaced quotes', async () => {
    const { rows, errors } = await read('a,1\n"never closed,2\nb"c,3\n"d" e,4\nf,5\n');
    expect(rows).to.deep.equal([
      [1, 'a', '1'],
      [5, 'f', '5'],
    ]);
    expect(errors.map((error) => error.slice(0, 8))).to.deep.equal(['f.csv:2:', 'f.csv:3:', 'f.csv:4:']);
  });

  for (const [size, what] of [
    [4096, 'parts of a line'],
    [150_000, 'the end of one line and the start of the next'],
  ] as const) {
    it(`reports lines with 200,000 characters, and continues after them, if chunks contain ${what}`, async () => {
      const long = 'x'.repeat(200_000);
      const { rows, errors } = await read(`a,1\n${long}\n${long}\n${long}\nb,2\n`, size);
      expect(rows).to.deep.equal([
        [1, 'a', '1'],
        [5, 'b', '2'],
      ]);
      expect(errors.map((error) => error.slice(0, 8))).to.deep.equal(['f.csv:2:', 'f.csv:3:', 'f.csv:4:']);
    });
  }

  it('reads the same rows for any chunk boundaries, even inside a character', async () => {
    const text = '\ufeff"Mayagüez, PR",32420\r\n"Año 😀",1\r\n';
    const whole = await read(text, 1000);
    expect(whole.rows[0]).to.deep.equal([1, 'Mayagüez, PR', '32420']);
    for (let size = 1; size < 20; size++) expect(await read(text, size), `chunks of ${size}`).to.deep.equal(whole);
  });
});

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

  it('reports a line with 100,000 characters, and continues after it', async () => {
    const { rows, errors } = await read(`a,1\n${'x'.repeat(100_000)}\nb,2\n`, 4096);
    expect(rows).to.deep.equal([
      [1, 'a', '1'],
      [3, 'b', '2'],
    ]);
    expect(errors).to.have.length(1);
    expect(errors[0]).to.match(/^f\.csv:2: /);
  });

  it('reads the same rows for any chunk boundaries, even inside a character', async () => {
    const text = '\ufeff"Mayagüez, PR",32420\r\n"Año 😀",1\r\n';
    const whole = await read(text, 1000);
    expect(whole.rows[0]).to.deep.equal([1, 'Mayagüez, PR', '32420']);
    for (let size = 1; size < 20; size++) expect(await read(text, size), `chunks of ${size}`).to.deep.equal(whole);
  });
});

/** CSV rows with their lines. */
import { expect } from 'chai';
import fc from 'fast-check';
import { readRows, splitRow } from '../../../../plugins/metro/import/csv.js';
import { ImportErrors } from '../../../../plugins/metro/import/import-errors.js';

const inChunks = async function* (bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
};

const read = async (text: string, size = 7) => {
  const faults = new ImportErrors();
  const rows = [];
  for await (const batch of readRows(inChunks(Buffer.from(text), size), 'f.csv', faults)) rows.push(...batch);
  return { rows: rows.map(({ line, cells }) => [line, ...cells]), faults: faults.listRows() };
};

describe('plugins/metro/import/csv', () => {
  it('readRows reads BOM, CRLF, LF, quotes, empty lines and a last line without end, and counts lines', async () => {
    expect(await read('\ufeff"Abilene, TX",10180,( 2.62)\r\n\r\n"a ""b""", -,\nlast,1,2')).to.deep.equal({
      rows: [
        [1, 'Abilene, TX', '10180', '( 2.62)'],
        [3, 'a "b"', '-', ''],
        [4, 'last', '1', '2'],
      ],
      faults: [],
    });
  });

  it('readRows loses no row after one with wrong quotes', async () => {
    const { rows, faults } = await read('a,1\n"never closed,2\nb"c,3\n"d" e,4\nf,5\n');
    expect(rows).to.deep.equal([
      [1, 'a', '1'],
      [5, 'f', '5'],
    ]);
    expect(faults.map((fault) => fault.slice(0, 8))).to.deep.equal(['f.csv:2:', 'f.csv:3:', 'f.csv:4:']);
  });

  it('readRows calls a line of 100,000 characters a bad row, and goes on after it', async () => {
    const { rows, faults } = await read(`a,1\n${'x'.repeat(100_000)}\nb,2\n`, 4096);
    expect(rows).to.deep.equal([
      [1, 'a', '1'],
      [3, 'b', '2'],
    ]);
    expect(faults).to.have.length(1);
    expect(faults[0]).to.match(/^f\.csv:2: /);
  });

  it('readRows finds the same rows however the bytes are cut, in the middle of a character too', async () => {
    const text = '\ufeff"Mayagüez, PR",32420\r\n"Año 😀",1\r\n';
    const whole = await read(text, 1000);
    expect(whole.rows[0]).to.deep.equal([1, 'Mayagüez, PR', '32420']);
    for (let size = 1; size < 20; size++) expect(await read(text, size), `in pieces of ${size}`).to.deep.equal(whole);
  });

  it('splitRow undoes quoting by RFC 4180', () => {
    const cell = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, '').trim());
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1 }), (cells) => {
        const line = cells.map((text) => `"${text.replaceAll('"', '""')}"`).join(',');
        expect(splitRow(line)).to.deep.equal(cells);
      }),
    );
  });
});

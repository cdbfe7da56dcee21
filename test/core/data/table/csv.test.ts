import { expect } from 'chai';
import fc from 'fast-check';
import { type CsvRecord, CsvSplitter, CsvSyntaxError, type Dialect } from '../../../../core/data/table/csv.js';

const DIALECT: Dialect = { separator: ',', quote: '"', lineEnd: '\n' };

const split = (text: string, dialect: Partial<Dialect> = {}, size = 64 * 1024): CsvRecord[] => {
  const splitter = new CsvSplitter({ ...DIALECT, ...dialect });
  const records: CsvRecord[] = [];
  for (let at = 0; at < text.length; at += size) records.push(...splitter.push(text.slice(at, at + size)));
  return [...records, ...splitter.end()];
};
const cellsOf = (text: string, dialect?: Partial<Dialect>) => split(text, dialect).map(({ cells }) => cells);
const linesOf = (text: string, dialect?: Partial<Dialect>) => split(text, dialect).map(({ line }) => line);

describe('CsvSplitter', () => {
  it('reads the format of RFC 4180, with LF or CRLF, in parts of any size', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r\n', ' ', 'é', '=') });
    const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }));
    fc.assert(
      fc.property(table, fc.constantFrom('\n', '\r\n'), fc.integer({ min: 1, max: 9 }), (rows, end, size) => {
        const line = (row: readonly string[]) => row.map((each) => `"${each.replaceAll('"', '""')}"`).join(',') + end;
        expect(split(rows.map(line).join(''), {}, size).map(({ cells }) => cells)).to.deep.equal(rows);
      }),
    );
  });

  it('returns the same records for text with misplaced quotes, at any split of the text', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r\n', ' ') });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 9 }), (given, size) => {
        // The appended quote closes a quote that is still open.
        for (const each of [given, `${given}"`]) {
          let whole: CsvRecord[];
          try {
            whole = split(each);
          } catch (error) {
            expect(error).to.be.instanceOf(CsvSyntaxError);
            continue;
          }
          expect(split(each, {}, size)).to.deep.equal(whole);
        }
      }),
    );
  });

  it('returns the first line of each record, even after line breaks in quotes', () => {
    expect(linesOf('"a\nb"\nc')).to.deep.equal([1, 3]);
    expect(linesOf('a\rb\rc', { lineEnd: '\r' })).to.deep.equal([1, 2, 3]);
    expect(linesOf('"a\r\nb\r\n"\r\n\r\nc\r\n')).to.deep.equal([1, 4, 5]);
  });

  for (const [text, ...cells] of [
    ['1,5" pipe', '1', '5" pipe'],
    ['1,"5"" pipe"', '1', '5" pipe'],
    ['"He said "hi" to me",2', 'He said "hi" to me', '2'],
    ['"5" pipe,"next"', '5 pipe', 'next'],
    ['"a" ,"b"', 'a', 'b'],
    ['"",""', '', ''],
  ] as const) {
    it(`reads ${text}`, () => expect(cellsOf(text)).to.deep.equal([cells]));
  }

  it('reads quotes that follow a backslash as text if the file escapes quotes in this way', () => {
    for (const [text, ...cells] of [
      [String.raw`"say \"hi\" now",2`, 'say "hi" now', '2'],
      [String.raw`"\"all\"","a, \"b\""`, '"all"', 'a, "b"'],
      [String.raw`"C:\\dir\\","x\\\"y"`, 'C:\\dir\\', String.raw`x\"y`],
      [String.raw`"","a""b",C:\new\"`, '', 'a"b', String.raw`C:\new\"`],
      [String.raw`"a\nb",1`, String.raw`a\nb`, '1'],
    ] as const) {
      for (const size of [1, 2, 100]) {
        const records = split(text, { isEscaped: true }, size);
        expect(records.map((each) => each.cells)).to.deep.equal([cells]);
      }
    }
    expect(cellsOf(String.raw`"C:\dir\",2`)).to.deep.equal([['C:\\dir\\', '2']]);
  });

  it('marks records that contain a quote which is neither doubled nor at an end of its cell', () => {
    expect(split('"a",b\n"a"b,c\na"b,c\n').map(({ isMisquoted }) => isMisquoted ?? false)).to.deep.equal([
      false,
      true,
      true,
    ]);
  });

  it('keeps quotes as text if the file does not quote cells, and drops spaces if all cells start with a space', () => {
    expect(cellsOf('"a,b\n', { quote: undefined })).to.deep.equal([['"a', 'b']]);
    expect(cellsOf('1, "a, b", 2\n', { skipsSpaces: true })[0]!.slice(0, 2)).to.deep.equal(['1', 'a, b']);
  });

  it('rejects a quote that is not closed, with its line', () => {
    const error = (text: string): CsvSyntaxError | undefined => {
      try {
        split(text);
      } catch (found) {
        return found as CsvSyntaxError;
      }
      return undefined;
    };
    expect(error('id,v\n1,"x\n')).to.include({ line: 2, message: 'has a quote that is not closed' });
    const long = error(`id,v\n\n1,"x\n${'2,some text,y\n'.repeat(2_000_000)}`);
    expect(long?.line).to.equal(3);
    expect(long?.message).to.match(/a quote that is not closed, or more than/);
    expect(error(`id,v\n1,${'x'.repeat(17_000_000)}`)).to.include({
      line: 2,
      message: 'has more than 16,777,216 characters',
    });
  });

  it('ends a record at the end of its line if cells must not contain line breaks', () => {
    expect(split('a,"b\nc,d\n', { isOneLine: true })).to.deep.equal([
      { line: 1, cells: ['a', 'b'], isMisquoted: true },
      { line: 2, cells: ['c', 'd'] },
    ]);
  });
});

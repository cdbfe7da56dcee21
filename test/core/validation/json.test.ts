import { expect } from 'chai';
import fc from 'fast-check';
import { findJsonError } from '../../../core/validation/json.js';

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('findJsonError(text)', () => {
  it('finds no error in valid JSON', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.nat(4), (text, indent) => {
        expect(findJsonError(text)).to.equal(undefined);
        expect(findJsonError(JSON.stringify(JSON.parse(text), null, indent))).to.equal(undefined);
      }),
    );
  });

  it('finds an error in damaged text if and only if JSON.parse throws', () => {
    const damaged = fc
      .tuple(
        fc.json({ maxDepth: 4 }),
        fc.nat(),
        fc.nat(3),
        fc.constantFrom('', '"', ',', '}', ']', ':', '\\', '0', '-', 'e', '.', '\n', '\u0001', 'true', ' '),
      )
      .map(([text, at, cut, put]) => {
        const start = at % (text.length + 1);
        return text.slice(0, start) + put + text.slice(start + cut);
      });
    fc.assert(
      fc.property(damaged, (text) => {
        const error = findJsonError(text);
        if (error?.problem.includes('repeated')) return;
        expect(error === undefined, JSON.stringify(error)).to.equal(parses(text));
      }),
      { numRuns: 2000 },
    );
  });

  it('counts lines and columns from 1', () => {
    expect(findJsonError('x')).to.deep.include({ line: 1, column: 1 });
    expect(findJsonError('[1,\r\n  x]')).to.deep.include({ line: 2, column: 3 });
  });

  const problems: [text: string, problem: string][] = [
    ['[1 2]', 'expected "," or "]"'],
    ['[1,]', 'there is a comma before "]"'],
    ['{"a" 1}', 'expected ":"'],
    ['{a: 1}', 'expected a name in double quotes'],
    ['["a]', 'a string is not closed, or contains a character that must be escaped'],
    ['"a\nb"', 'a string is not closed, or contains a character that must be escaped'],
    ['{} {}', 'expected nothing more'],
    ['{"a": 1, "a": 2}', 'the name "a" is repeated in this object'],
    ['[01]', 'expected "," or "]"'],
    ['[nulls]', 'expected a value'],
    ['{"a": ', 'the text ends where a value is expected'],
  ];
  for (const [text, problem] of problems) {
    it(`${JSON.stringify(text)}: ${problem}`, () => expect(findJsonError(text)?.problem).to.equal(problem));
  }
});

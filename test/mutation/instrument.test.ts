/** What is broken at a place of the code, and that the code does as before until it is. */
import { expect } from 'chai';
import { instrument } from '../../mutation/instrument.js';

/** The source with each of its mutations in force, by itself. */
const mutants = (source: string): string[] =>
  instrument(source, 0, './switch.js').sites.map(
    ({ start, end, text }) => source.slice(0, start) + text + source.slice(end),
  );

describe('instrument(source)', () => {
  const cases: [source: string, ...mutants: string[]][] = [
    ['a < b;', '(a) <= (b);', '(a) >= (b);', 'true;', 'false;'],
    ['(a + b) * c;', '((a) - (b)) * c;', '(a + b) / (c);'],
    ["a + 'text';", 'a + "";'],
    ['a ?? b;', '(a) && (b);'],
    ['if (!a) b();', 'if (a) b();', 'if (true) b();', 'if (false) b();', 'if (!a) undefined;'],
    ['while (a) { b = 1; }', 'while (false) { b = 1; }', 'while (a) {}'],
    ['a?.b.c;', 'a.b.c;'],
    ['a?.[0]?.(b);', 'a?.[0](b);', 'a[0]?.(b);', 'undefined;'],
    ['a.filter(b);', 'a;', 'undefined;'],
    ['a.some(b) ? 1 : 2;', 'true ? 1 : 2;', 'false ? 1 : 2;', '(a).every(b) ? 1 : 2;'],
    ['f(() => a);', 'undefined;', 'f(() => undefined);'],
    ['i++;', 'i--;'],
    ['a = [];', 'a = ["mutated"];'],
    ["import a from 'b';"],
    ["a = { 'b-c': 1 };", 'a = {};'],
    ["logger.warn({ a: 1 }, 'words');", 'undefined;'],
    ["a = { description: 'words' };", 'a = {};'],
  ];
  for (const [source, ...expected] of cases) {
    it(`${source} becomes ${expected.join(' or ') || 'nothing else'}`, () => {
      expect(mutants(source).sort()).to.deep.equal(expected.toSorted());
    });
  }

  it('asks for each mutation by its number, and else does what the source does', () => {
    const source = "const f = (a, { b = 'x' }) => { if (a?.length > 1 && b) return a + b; return [a, -1]; };";
    const { code, sites } = instrument(source, 7, './switch.js');
    const body = code.replace(/^import .*\n/, '');
    const asked = new Set<number>();
    const f = new Function('__mutant', `${body} return f;`)((id: number) => {
      asked.add(id);
      return false;
    });
    expect([f('ab', {}), f('a', {}), f(undefined, {})]).to.deep.equal(['abx', ['a', -1], [undefined, -1]]);
    expect(Math.min(...asked)).to.equal(7);
    expect(Math.max(...asked)).to.be.at.most(7 + sites.length - 1);
  });
});

import { expect } from 'chai';
import { failsWith, isEmpty, sameList, sameValue } from '../../../adapters/conformance/expect.js';

const messageOf = (call: () => void): string => {
  try {
    call();
  } catch (error) {
    return (error as Error).message;
  }
  return 'no error';
};

const numbersTo = (length: number): number[] => Array.from({ length }, (_, i) => i);

describe('sameList(found, expected, rule)', () => {
  it('accepts lists with equal items', () => {
    sameList([], [], 'nothing');
    sameList([{ a: [1, null] }, 'b'], [{ a: [1, null] }, 'b'], 'both');
  });

  it('shows the rule, the first difference with its neighbours, and both lengths', () => {
    const found = numbersTo(100).with(50, -1).with(52, -2);
    expect(messageOf(() => sameList(found, numbersTo(100), 'the numbers in order'))).to.equal(
      [
        'expected the numbers in order; the first difference is at index 50 (100 expected, 100 found):',
        '',
        '    index  expected  found',
        '    47     47        47',
        '    48     48        48',
        '    49     49        49',
        '  > 50     50        -1',
        '    51     51        51',
        '    52     52        -2',
        '    53     53        53',
        '',
      ].join('\n'),
    );
  });

  it('shows where one list ends before the other', () => {
    const short = messageOf(() => sameList(numbersTo(3), numbersTo(1000), 'all'));
    expect(short).to.match(/first difference is at index 3 \(1000 expected, 3 found\)/);
    expect(short).to.match(/^ {2}> 3 {6}3 {9}\(none\)$/m);
    const long = messageOf(() => isEmpty(numbersTo(1000), 'nothing'));
    expect(long).to.match(/^expected nothing; the first difference is at index 0 \(0 expected, 1000 found\)/);
    expect(long).to.match(/^ {2}> 0 {6}\(none\) {4}0$/m);
  });

  it('distinguishes an undefined item from a missing one', () => {
    expect(messageOf(() => sameList([], [undefined], 'one'))).to.match(/^ {2}> 0 {6}undefined {2}\(none\)$/m);
  });

  it('shows where long items differ', () => {
    const item = (end: string) => ({ text: 'x'.repeat(5000) + end });
    const message = messageOf(() => sameList([item('found')], [item('expected')], 'a long item'));
    expect(message).to.match(/> 0 .*…x+expected' \} +…x+found' \}/);
    expect(message.length).to.be.below(500);
  });

  it('fails for a value that is not a list', () => {
    const message = messageOf(() => sameList(null as never, [], 'no versions'));
    expect(message).to.equal('expected no versions; found no list, but null');
  });

  it('distinguishes 0 from -0, and a date from its text', () => {
    expect(messageOf(() => sameList([-0], [0], 'zero'))).to.match(/> 0 +0 +-0/);
    const date = new Date(0);
    expect(messageOf(() => sameList([date.toJSON()], [date], 'a date'))).to.match(/index 0/);
  });
});

describe('sameValue(found, expected, rule)', () => {
  it('accepts values that are deeply equal', () => {
    sameValue({ a: { b: [1] } }, { a: { b: [1] } }, 'the same');
  });

  it('shows both values', () => {
    expect(messageOf(() => sameValue({ a: 1, b: null }, { a: 1 }, 'no additional field'))).to.equal(
      'expected no additional field:\n\n  expected: { a: 1 }\n  found:    { a: 1, b: null }\n',
    );
  });

  it('shows large values around the first difference', () => {
    const value = (end: number) => ({ ...Object.fromEntries(numbersTo(5000).map((i) => [`field${i}`, i])), end });
    const message = messageOf(() => sameValue(value(1), value(2), 'the end'));
    expect(message).to.match(/expected: ….*end: 2 \}\n {2}found: {4}….*end: 1 \}\n$/);
    expect(message.length).to.be.below(3000);
  });
});

describe('failsWith(code, call)', () => {
  it('shows the beginning of a long result', async () => {
    const error = await failsWith('closed', () => numbersTo(50_000)).catch((error: Error) => error);
    expect(error.message).to.match(/^expected a StorageError with code closed, got the result \[ 0, 1, 2, /);
    expect(error.message.length).to.be.below(2000);
  });
});

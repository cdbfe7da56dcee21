import { expect } from 'chai';
import { parseExpiry } from '../../cli/expiry.js';
import { OperatorError } from '../../core/errors.js';

const NOW = Date.parse('2026-01-15T12:00:00Z');

describe('parseExpiry(text, now)', () => {
  const good: [text: string, expected: string][] = [
    ['30d', '2026-02-14T12:00:00.000Z'],
    ['12h', '2026-01-16T00:00:00.000Z'],
    ['15m', '2026-01-15T12:15:00.000Z'],
    ['2w', '2026-01-29T12:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2026-01-15T12:00:01Z', '2026-01-15T12:00:01.000Z'],
    ['2026-01-15T13:00Z', '2026-01-15T13:00:00.000Z'],
  ];
  for (const [text, expected] of good) {
    it(`${text} is ${expected}`, () => expect(parseExpiry(text, NOW)).to.equal(expected));
  }

  for (const text of [
    '2027-02-29',
    '2026-13-01',
    '2027-1-1',
    'tomorrow',
    '30',
    '1.5d',
    '-3d',
    '',
    '2027-01-01T00:00:00',
  ]) {
    it(`rejects "${text}" and lists the accepted forms`, () => {
      expect(() => parseExpiry(text, NOW)).to.throw(OperatorError, 'write 15m, 12h, 30d, 2w, 2027-01-31');
    });
  }

  for (const text of ['2026-01-15', '2020-01-01', '0d', '2026-01-15T12:00:00Z']) {
    it(`rejects "${text}", which is not in the future`, () => {
      expect(() => parseExpiry(text, NOW)).to.throw(OperatorError, 'is not in the future');
    });
  }
});

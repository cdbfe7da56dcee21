import { expect } from 'chai';
import { printable, printableData, printableLine } from '../../../core/util/printable.js';

const UNSAFE = '\u001b[2J\u009b2J\u0000\u0007\r\b\u007f\u202e\u2066\u2069\u200f\u061c\u2028';

describe('printable(text)', () => {
  it('escapes control characters, ANSI sequences and controls of text direction', () => {
    expect(printable('a\u001b[2J\u202eb')).to.equal('a\\u001b[2J\\u202eb');
    expect(printable(UNSAFE)).to.match(/^[\x20-\x7e]+$/);
  });

  it('leaves newlines, tabs and all other text unchanged', () => {
    const text = 'Zürich\n\t東京 👩‍👩‍👧 שלום';
    expect(printable(text)).to.equal(text);
  });

  it('does not change the value of JSON', () => {
    const json = JSON.stringify({ [UNSAFE]: UNSAFE }, null, 2);
    expect(JSON.parse(printable(json))).to.deep.equal({ [UNSAFE]: UNSAFE });
  });

  it('printableLine escapes newlines and tabs too', () => {
    expect(printableLine('a\n\tb')).to.equal('a\\u000a\\u0009b');
  });

  it('printableData escapes every string of a value', () => {
    expect(printableData({ '\u001b': ['\u202e', 1, null, { a: '\u0007' }] })).to.deep.equal({
      '\\u001b': ['\\u202e', 1, null, { a: '\\u0007' }],
    });
  });
});

import { expect } from 'chai';
import { type PublishedNow, withPublished } from '../../../core/audit/data-audit.js';
import type { DataAuditEntry } from '../../../core/contracts/audit.js';

const verified = { chained: 0, head: null, notes: [], faults: [] };

/**
 * Parses a short notation: `+b<a` publishes b and replaces a, `>b<a` reactivates b, and `-b` deletes b. Without a name
 * after `<`, there was no current version.
 */
const entriesOf = (text: string): readonly DataAuditEntry[] =>
  text
    .split(' ')
    .filter((word) => word !== '')
    .map((word, i) => {
      const [version = '', replaces] = word.slice(1).split('<');
      const base = { time: `2026-05-01T00:00:0${i}.000Z`, by: 'tester', version };
      if (word.startsWith('-')) return { ...base, action: 'prune' };
      return { ...base, action: word.startsWith('+') ? 'publish' : 'activate', replaces: replaces || null };
    });

const verify = (text: string, published: PublishedNow) => {
  const { notes, faults } = withPublished(verified, entriesOf(text), published);
  return { notes, faults };
};

describe('withPublished()', () => {
  const consistent: readonly (readonly [string, string, PublishedNow])[] = [
    ['nothing has been recorded', '', { current: 'a', versions: ['a'] }],
    ['nothing was ever published', '', { current: null, versions: [] }],
    ['one version was published', '+a<', { current: 'a', versions: ['a'] }],
    ['the store keeps only the current version', '+a< +b<a', { current: 'b' }],
    ['an earlier version was activated again', '+a< +b<a >a<b', { current: 'a', versions: ['a', 'b'] }],
    ['an old version was deleted', '+a< +b<a -a', { current: 'b', versions: ['b'] }],
    ['a deleted version was published again', '+a< +b<a -a +a<b', { current: 'a', versions: ['b', 'a'] }],
    ['versions were published before the audit log existed', '+c<b', { current: 'c', versions: ['a', 'b', 'c'] }],
    ['a publication failed, and the next one succeeded', '+a< +x<a +b<a', { current: 'b', versions: ['a', 'b'] }],
    ['two publications failed', '+a< +x<a +y<a +b<a', { current: 'b', versions: ['a', 'b'] }],
    ['a version was published again under its own name', '+a< +a<a', { current: 'a' }],
  ];
  for (const [when, text, published] of consistent) {
    it(`accepts the log if ${when}`, () => {
      expect(verify(text, published)).to.deep.equal({ notes: [], faults: [] });
    });
  }

  it('notes that the newest change failed or is not finished', () => {
    expect(verify('+a< +b<a', { current: 'a', versions: ['a'] })).to.deep.equal({
      notes: ['the newest change, publish "b", was not made, or is still in progress'],
      faults: [],
    });
  });

  const inconsistent: readonly (readonly [string, string, PublishedNow, readonly RegExp[]])[] = [
    ['another version is current', '+a<', { current: 'b' }, [/how "b" became the current version/]],
    ['no version is current', '+a< +b<a', { current: null, versions: ['a', 'b'] }, [/how none became/]],
    [
      'an entry replaces a version that no other entry published',
      '+a< +c<b',
      { current: 'c' },
      [/how "b" became .* before 2026-05-01T00:00:01/],
    ],
    [
      'a version was deleted without an entry',
      '+a< +b<a',
      { current: 'b', versions: ['b'] },
      [/how "a", published at .*, was deleted/],
    ],
    ['a version came in', '+a< +b<a', { current: 'b', versions: ['a', 'x', 'b'] }, [/how "x" was published/]],
    [
      'a deleted version exists',
      '+a< +b<a -a',
      { current: 'b', versions: ['a', 'b'] },
      [/"a" still exists, although .* deletes it/],
    ],
  ];
  for (const [when, text, published, expected] of inconsistent) {
    it(`reports that ${when}`, () => {
      const { faults } = verify(text, published);
      expect(faults).to.have.length(expected.length);
      for (const [i, one] of expected.entries()) expect(faults[i]).to.match(one);
    });
  }
});

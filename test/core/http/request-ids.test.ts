/** Which `traceparent` headers are believed. */
import { expect } from 'chai';
import { traceId, traceParent } from '../../../core/http/request-state.js';

const ID = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('traceId(traceparent)', () => {
  for (const [header, expected] of [
    [`00-${ID}-00f067aa0ba902b7-01`, ID],
    [`00-${ID}-00f067aa0ba902b7-00`, ID],
    [`cc-${ID}-00f067aa0ba902b7-01-what-the-future-will-be-like`, ID],
    [`00-${ID}-00f067aa0ba902b7-01-more`, undefined],
    [`ff-${ID}-00f067aa0ba902b7-01`, undefined],
    [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
    [`00-${ID}-${'0'.repeat(16)}-01`, undefined],
    [`00-${ID.toUpperCase()}-00f067aa0ba902b7-01`, undefined],
    [`00-${ID}-00f067aa0ba902b7`, undefined],
    [`00-${ID}\n-00f067aa0ba902b7-01`, undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const) {
    it(`${header}: ${expected}`, () => {
      expect(traceId(header)).to.equal(expected);
    });
  }
});

describe('traceParent(traceparent)', () => {
  for (const [flags, sampled] of [
    ['00', false],
    ['01', true],
    ['02', false],
    ['ff', true],
  ] as const) {
    it(`the flags ${flags}: ${sampled ? 'recorded' : 'not recorded'} by the caller`, () => {
      const parentId = '00f067aa0ba902b7';
      expect(traceParent(`00-${ID}-${parentId}-${flags}`)).to.deep.equal({ traceId: ID, parentId, sampled });
    });
  }
});

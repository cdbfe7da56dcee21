import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { createKey } from '../../../core/keys/key.js';
import { requestId } from '../../../core/pipeline/api-koa.js';
import { traceId, traceParent } from '../../../core/pipeline/observe.js';

describe('requestId(request)', () => {
  const idOf = (given: string | undefined) =>
    requestId({ headers: { 'x-request-id': given } } as unknown as IncomingMessage);
  const { key } = createKey(undefined, 'mfk_');
  const secret = key.slice(4);

  for (const id of [
    'a',
    'order-17.retry_2',
    '018f3b1c-7d2e-7c4a-9f00-5b1e2a3c4d5e',
    '018f3b1c7d2e7c4a9f005b1e2a3c4d5e',
    '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    `${'a'.repeat(32)}-${'b'.repeat(31)}`,
  ]) {
    it(`keeps ${id}`, () => {
      expect(idOf(id)).to.equal(id);
    });
  }

  for (const [what, id] of [
    ['a key', key],
    ['the secret part of a key', secret],
    ['a secret part without its checksum', secret.slice(0, 43)],
    ['a secret part with something before and behind it', `id-${secret}.1`],
    ['most of a secret part', secret.slice(5, 38)],
    ['a text that is too long', 'a-'.repeat(33)],
    ['a text that needs escaping', 'a"b'],
    ['no id', undefined],
  ] as const) {
    it(`replaces ${what}`, () => {
      expect(idOf(id))
        .to.match(/^[0-9a-f]{16}-[0-9a-z]{1,9}$/)
        .and.not.equal(idOf(id));
    });
  }
});

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
    it(`flags ${flags}: ${sampled ? 'sampled' : 'not sampled'}`, () => {
      const parentId = '00f067aa0ba902b7';
      expect(traceParent(`00-${ID}-${parentId}-${flags}`)).to.deep.equal({ traceId: ID, parentId, sampled });
    });
  }
});

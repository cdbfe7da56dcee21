import { expect } from 'chai';
import { ApiError, errors, KeyStoreError, LimiterUnavailable, StorageError } from '../../../core/errors.js';
import { errorResponse } from '../../../core/response/error-response.js';
import { keptLogger } from '../../support/kept-logger.js';

describe('errorResponse(thrown)', () => {
  const cases: [thrown: unknown, code: keyof typeof errors, logged: RegExp | undefined][] = [
    [new ApiError(errors.rate_limited), 'rate_limited', undefined],
    [new LimiterUnavailable('away'), 'service_unavailable', /^warn: /],
    [new KeyStoreError('unavailable', 'away'), 'service_unavailable', /^warn: /],
    [new StorageError('unavailable', 'away'), 'service_unavailable', /^warn: /],
    [new StorageError('closed', 'closed'), 'service_unavailable', /^warn: /],
    [new KeyStoreError('conflict', 'twice'), 'internal_error', /^error: /],
    [new StorageError('invalid_query', 'wrong'), 'internal_error', /^error: /],
    [new TypeError('a secret of the house'), 'internal_error', /^error: /],
    ['no error at all', 'internal_error', /^error: /],
  ];
  for (const [thrown, code, logged] of cases) {
    it(`${thrown} is ${code}, with the sentence of the table`, () => {
      const logger = keptLogger();
      const { status, head, body } = errorResponse(thrown, logger, 'id');
      expect(status).to.equal(errors[code].status);
      expect(JSON.parse(String(body))).to.deep.equal({ error: errors[code].sentence, code });
      expect(head.includes('Retry-After')).to.equal(code === 'service_unavailable');
      expect(logger.lines).to.have.length(logged ? 1 : 0);
      if (logged) expect(logger.lines[0]).to.match(logged);
    });
  }

  class Gone extends Error {
    get status(): number {
      return 410;
    }
  }
  const frozen = Object.freeze(Object.assign(new Error('a book'), { statusCode: 410, expose: true }));
  for (const [what, thrown, sentence] of [
    ['a getter', new Gone('a book'), 'The request was rejected: Gone.'],
    ['a frozen property', frozen, 'a book'],
  ] as const) {
    it(`uses the status of an error that has it as ${what}, and does not change the error`, () => {
      const { status, body } = errorResponse(thrown, keptLogger(), 'id');
      expect([status, JSON.parse(String(body))]).to.deep.equal([410, { error: sentence, code: 'gone' }]);
    });
  }
});

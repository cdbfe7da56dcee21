import { expect } from 'chai';
import {
  ApiError,
  defineError,
  errors,
  KeyStoreError,
  LimiterUnavailable,
  OperatorError,
  StorageError,
} from '../../core/errors.js';

describe('the table of errors', () => {
  for (const [code, kind] of Object.entries(errors)) {
    it(`${code} has its code, its status, a message for clients and a description for the documentation`, () => {
      expect(kind.code).to.equal(code);
      expect(kind.status).to.be.within(400, 599);
      for (const sentence of [kind.sentence, kind.when]) expect(sentence).to.match(/^[A-Z].{15,}\.$/);
    });
  }

  it('uses 4xx for errors that callers can fix, and 5xx for all other errors', () => {
    const statuses = new Map<number, string[]>();
    for (const { status, code } of Object.values(errors)) statuses.set(status, [...(statuses.get(status) ?? []), code]);
    expect(Object.fromEntries(statuses)).to.deep.equal({
      400: ['missing_parameter', 'invalid_parameter', 'unknown_parameter'],
      401: ['missing_api_key', 'invalid_api_key'],
      403: ['not_in_tier'],
      404: ['route_not_found', 'snapshot_not_found'],
      405: ['method_not_allowed'],
      406: ['not_acceptable'],
      414: ['uri_too_long'],
      429: ['rate_limited', 'quota_exceeded'],
      431: ['headers_too_large'],
      500: ['internal_error'],
      503: ['service_unavailable'],
    });
  });
});

describe('ApiError', () => {
  const kind = defineError({ code: 'teapot', status: 418, sentence: 'I am a teapot.', when: 'Coffee is asked for.' });

  it('has the message of its kind or a custom message', () => {
    expect(new ApiError(kind)).to.include({ message: 'I am a teapot.', name: 'ApiError', kind });
    expect(new ApiError(kind, 'Tea only.').message).to.equal('Tea only.');
  });

  it('has a cause only if the constructor gets one', () => {
    const cause = new Error('boiling');
    expect(new ApiError(kind, undefined, { cause }).cause).to.equal(cause);
    expect(new ApiError(kind)).to.not.have.property('cause');
  });
});

describe('errors of another copy of the package', () => {
  /** If two copies of the package are installed, each has its own error classes. These classes have the same names. */
  const foreign = (name: string): Error => Object.assign(new Error('from elsewhere'), { name });

  for (const type of [ApiError, StorageError, LimiterUnavailable, KeyStoreError]) {
    it(`are recognized as ${type.name} by their name alone`, () => {
      expect(foreign(type.name)).to.be.instanceOf(type);
      expect(foreign('Error')).to.not.be.instanceOf(type);
      expect({ name: type.name }).to.not.be.instanceOf(type);
    });
  }

  it('each have exactly one type', () => {
    const error = new StorageError('closed', 'The store is closed.', { cause: 'why' });
    expect(error).to.include({ code: 'closed', message: 'The store is closed.', cause: 'why' });
    expect(error).to.not.be.instanceOf(KeyStoreError);
    expect(new KeyStoreError('conflict', 'Twice.', { cause: 'why' })).to.include({ code: 'conflict', cause: 'why' });
  });
});

describe('OperatorError', () => {
  it('lists its errors under its heading, one per line', () => {
    expect(new OperatorError('It is wrong.')).to.include({ message: 'It is wrong.', name: 'OperatorError' });
    expect(new OperatorError('It is wrong.').errors).to.deep.equal([]);
    const cause = new Error('why');
    const error = new OperatorError('There are two:', ['first', 'second'], { cause });
    expect(error.message).to.equal('There are two:\n  - first\n  - second');
    expect(error.errors).to.deep.equal(['first', 'second']);
    expect(error.cause).to.equal(cause);
  });
});

import { expect } from 'chai';
import { exchange } from '../../support/raw-http.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

interface Case {
  readonly name: string;
  readonly lines: readonly string[];
  readonly status: number;
  readonly answer: object;
  readonly closes: boolean;
}

const READ_ONLY = { error: 'This API is read-only: use GET, HEAD or OPTIONS.', code: 'method_not_allowed' };
const HOST = 'The Host header is not valid: send exactly one, with the name of this service.';
const NO_BODY = 'This API does not accept request bodies: send the request without one.';

const invalid = (error: string, ...details: readonly object[]) => ({
  error,
  code: 'invalid_parameter',
  ...(details.length > 0 && { details }),
});
const host = (issue: string) => invalid(HOST, { in: 'header', name: 'Host', issue });

describe('error responses before any route', () => {
  let service: TestApp;
  let port: number;
  before(async () => {
    service = await startTestApp();
    port = Number(new URL(service.url).port);
  });
  after(() => service.close());

  const cases: readonly Case[] = [
    {
      name: 'no Host',
      lines: ['GET /health HTTP/1.1'],
      status: 400,
      answer: host('must be present'),
      closes: true,
    },
    {
      name: 'two Hosts',
      lines: ['GET /health HTTP/1.1', 'Host: a', 'Host: a'],
      status: 400,
      answer: host('must be sent once'),
      closes: true,
    },
    {
      name: 'a Host with a user',
      lines: ['GET /health HTTP/1.1', 'Host: user@a'],
      status: 400,
      answer: host('must be a host name or address, optionally followed by a port'),
      closes: true,
    },
    {
      name: 'a body',
      lines: ['GET /api/v1/health HTTP/1.1', 'Host: a', 'Content-Length: 2'],
      status: 400,
      answer: invalid(NO_BODY, { in: 'body', name: '', issue: 'must be absent' }),
      closes: true,
    },
    {
      name: 'what is not HTTP',
      lines: ['GET /health HTTP/1.1', 'Host : a'],
      status: 400,
      answer: invalid('The request is not valid HTTP/1.1.'),
      closes: true,
    },
    {
      name: 'CONNECT',
      lines: ['CONNECT a:1 HTTP/1.1', 'Host: a'],
      status: 405,
      answer: READ_ONLY,
      closes: true,
    },
    {
      name: 'another method',
      lines: ['PATCH /api/v1/health HTTP/1.1', 'Host: a'],
      status: 405,
      answer: READ_ONLY,
      closes: false,
    },
  ];
  for (const { name, lines, status, answer, closes } of cases) {
    it(`${name}: ${status}, and the connection ${closes ? 'closes' : 'stays open'}`, async () => {
      const { responses, closed } = await exchange(port, `${lines.join('\r\n')}\r\n\r\n`, { closesWithinMs: 1000 });
      expect(responses).to.have.length(1);
      const [{ status: answered, headers, body }] = responses as [(typeof responses)[number]];
      expect(answered).to.equal(status);
      expect(JSON.parse(body)).to.deep.equal(answer);
      expect(headers['content-length']).to.equal(String(body.length));
      expect(headers['cache-control']).to.equal('no-store');
      expect(headers['connection'] === 'close').to.equal(closes);
      expect(closed).to.equal(closes);
      if (status === 405) expect(headers['allow']).to.equal('GET, HEAD, OPTIONS');
    });
  }

  it('HEAD gets only the head', async () => {
    const { rest } = await exchange(port, 'HEAD /health HTTP/1.1\r\nHost: user@a\r\n\r\n', { end: true });
    expect(rest).to.match(/^HTTP\/1\.1 400 /);
    expect(rest).to.match(/\r\nContent-Length: [1-9]\d*\r\n/);
    expect(rest.split('\r\n\r\n')).to.deep.equal([rest.slice(0, -4), '']);
  });
});

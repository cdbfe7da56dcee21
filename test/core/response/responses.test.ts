import { createHash } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import * as fixture from '../../support/fixture.js';
import { request } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

describe('every response', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp({
      collections: {
        ...fixture.documents,
        hpi: Array.from({ length: 200 }, (_, i) => ({
          cbsa: fixture.ATLANTA,
          period_start: new Date(Date.UTC(1976, i * 3, 1)).toISOString().slice(0, 10),
          value: 100 + i / 10,
        })),
      },
    });
  });
  after(() => service.close());
  const history = `/markets/${fixture.ATLANTA}/history`;

  describe('validators', () => {
    it('GET has a strong ETag, the publication time as Last-Modified, and no-cache', async () => {
      const { headers } = await service.get('/markets');
      expect(headers.etag).to.match(/^"[^"]+"$/);
      expect(headers['last-modified']).to.equal('Mon, 02 Mar 2026 12:00:00 GMT');
      expect(headers['cache-control']).to.equal('private, no-cache');
      expect(headers['snapshot-version']).to.equal('fixture-1');
      expect(headers['content-length']).to.match(/^\d+$/);
    });

    const fresh = (tag: string): readonly string[] => [tag, `W/${tag}`, `"x", ${tag}`, `"x",${tag} , "y"`, '*'];
    it('If-None-Match with the ETag, weak, in a list, or * is a 304 without a body', async () => {
      const { headers } = await service.get('/markets');
      for (const value of fresh(headers.etag!)) {
        const answer = await service.get('/markets', { headers: { 'If-None-Match': value } });
        expect([answer.status, answer.text], value).to.deep.equal([304, '']);
        expect(answer.headers.etag).to.equal(headers.etag);
        expect(answer.headers['cache-control']).to.equal('private, no-cache');
        expect(answer.headers).to.not.have.property('content-type');
      }
    });

    for (const value of ['"other"', 'nonsense', '', '"', 'W/"other"']) {
      it(`If-None-Match: ${value} is a 200`, async () => {
        expect((await service.get('/markets', { headers: { 'If-None-Match': value } })).status).to.equal(200);
      });
    }

    it('If-Modified-Since at or after the publication is a 304; an earlier time or another format is a 200', async () => {
      const statuses = [];
      for (const since of [
        'Mon, 02 Mar 2026 12:00:00 GMT',
        'Tue, 03 Mar 2026 12:00:00 GMT',
        'Monday, 02-Mar-26 12:00:00 GMT',
        'Mon Mar  2 12:00:00 2026',
        'Mon, 02 Mar 2026 11:59:59 GMT',
        'never',
        '9999',
        '2100-01-01T00:00:00Z',
        'Mon, 02 Mar 2026 12:00:00',
      ]) {
        statuses.push((await service.get('/markets', { headers: { 'If-Modified-Since': since } })).status);
      }
      expect(statuses).to.deep.equal([304, 304, 304, 304, 200, 200, 200, 200, 200]);
    });

    it('If-None-Match has precedence over If-Modified-Since', async () => {
      const { headers } = await service.get('/markets');
      const match = { 'If-None-Match': headers.etag!, 'If-Modified-Since': 'Mon, 01 Jan 2001 00:00:00 GMT' };
      expect((await service.get('/markets', { headers: match })).status).to.equal(304);
      const differ = { 'If-None-Match': '"x"', 'If-Modified-Since': 'Tue, 03 Mar 2026 12:00:00 GMT' };
      expect((await service.get('/markets', { headers: differ })).status).to.equal(200);
    });

    it('equal bodies have equal ETags, and different bodies have different ETags', async () => {
      const tags = new Map<string, string>();
      for (const path of ['/markets', '/forecasts', '/series', '/signals', '/movers', '/movers?limit=5', history]) {
        const { text, headers } = await service.get(path);
        const digest = createHash('sha256').update(text).digest('hex');
        expect(tags.get(digest) ?? headers.etag).to.equal(headers.etag);
        tags.set(digest, headers.etag!);
      }
      expect(new Set(tags.values()).size).to.equal(tags.size);
    });
  });

  describe('compression', () => {
    const decoders = { gzip: gunzipSync, br: brotliDecompressSync, identity: (bytes: Buffer) => bytes };
    const expected: readonly (readonly [accept: string, encoding: keyof typeof decoders])[] = [
      ['gzip', 'gzip'],
      ['br', 'br'],
      ['gzip, deflate, br', 'br'],
      ['gzip;q=1, br;q=0.5', 'gzip'],
      ['*', 'br'],
      ['br;q=0, *', 'gzip'],
      ['deflate', 'identity'],
      ['', 'identity'],
      ['identity;q=0, zstd', 'identity'],
      ['x'.repeat(1000), 'identity'],
    ];
    for (const [accept, encoding] of expected) {
      it(`Accept-Encoding: ${accept.slice(0, 30)} gives ${encoding}, with a different ETag`, async () => {
        const plain = await service.get(history);
        const answer = await service.get(history, { headers: { 'Accept-Encoding': accept } });
        expect(answer.headers['content-encoding'] ?? 'identity').to.equal(encoding);
        expect(answer.headers.vary).to.contain('Accept-Encoding');
        expect(decoders[encoding](answer.bytes).toString()).to.equal(plain.text);
        if (encoding === 'identity') expect(answer.headers.etag).to.equal(plain.headers.etag);
        else expect(answer.headers.etag).to.not.equal(plain.headers.etag);
        const again = await service.get(history, {
          headers: { 'Accept-Encoding': accept, 'If-None-Match': answer.headers.etag! },
        });
        expect(again.status).to.equal(304);
      });
    }

    it('a short response is not compressed', async () => {
      const { headers } = await service.get('/markets/12060', { headers: { 'Accept-Encoding': 'gzip' } });
      expect(headers).to.not.have.property('content-encoding');
    });
  });

  describe('methods', () => {
    for (const path of ['/markets', '/status', '/health', '/markets/99999', '/movers?limit=x', '/nowhere']) {
      it(`HEAD ${path} has GET's status and headers, and no body`, async () => {
        const get = await service.get(path);
        const head = await service.get(path, { method: 'HEAD' });
        expect(head.status).to.equal(get.status);
        expect(head.bytes.length).to.equal(0);
        for (const name of Object.keys(get.headers)) {
          if (['date', 'ratelimit', 'x-request-id', 'age', 'cache-control'].includes(name)) continue;
          expect(head.headers[name], name).to.equal(get.headers[name]);
        }
      });
    }

    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']) {
      it(`${method} /markets is a 405 with Allow, with and without a key`, async () => {
        for (const headers of [{}, { Authorization: '' }]) {
          const { status, json, headers: sent } = await service.get('/markets', { method, headers });
          expect([status, json.code]).to.deep.equal([405, 'method_not_allowed']);
          expect(sent.allow).to.equal('GET, HEAD, OPTIONS');
        }
      });
    }

    it('OPTIONS /markets responds to a preflight without a key', async () => {
      const { status, headers, text } = await request(`${service.url}/markets`, {
        method: 'OPTIONS',
        headers: { Origin: 'https://example.com', 'Access-Control-Request-Method': 'GET' },
      });
      expect([status, text]).to.deep.equal([204, '']);
      expect(headers).to.include({ allow: 'GET, HEAD, OPTIONS', 'access-control-allow-origin': '*' });
      expect(headers['access-control-allow-headers']).to.contain('Authorization');
    });

    it('GET with a body is a 400, and the connection closes', async () => {
      const { status, json, headers } = await service.get('/markets', {
        body: '{}',
        headers: { 'Content-Length': '2' },
      });
      expect([status, json.code]).to.deep.equal([400, 'invalid_parameter']);
      expect(headers.connection).to.equal('close');
    });
  });

  describe('Accept', () => {
    for (const accept of [
      'application/json',
      '*/*',
      'application/*',
      'text/html, */*;q=0.1',
      'APPLICATION/JSON',
      '',
      ', ,',
    ]) {
      it(`Accept: ${accept} is a 200`, async () => {
        expect((await service.get('/markets', { headers: { Accept: accept } })).status).to.equal(200);
      });
    }
    for (const accept of ['text/html', 'application/json;q=0', 'image/*']) {
      it(`Accept: ${accept} is a 406 not_acceptable, in JSON`, async () => {
        const { status, json, headers } = await service.get('/markets', { headers: { Accept: accept } });
        expect([status, json.code]).to.deep.equal([406, 'not_acceptable']);
        expect(headers['content-type']).to.contain('application/json');
      });
    }
  });

  describe('errors', () => {
    const cases: readonly (readonly [target: string, status: number, code: string])[] = [
      ['/nowhere', 404, 'route_not_found'],
      ['/markets/', 404, 'route_not_found'],
      ['/Markets', 404, 'route_not_found'],
      ['//markets', 404, 'route_not_found'],
      ['/markets/../markets', 404, 'route_not_found'],
      ['/markets/%2e%2e', 400, 'invalid_parameter'],
      ['/markets/%zz', 400, 'invalid_parameter'],
      ['/%zz', 400, 'invalid_parameter'],
      ['/markets?%zz=1', 400, 'invalid_parameter'],
      [`/${'x'.repeat(9000)}`, 414, 'uri_too_long'],
    ];
    for (const [target, status, code] of cases) {
      it(`GET ${target.slice(0, 40)} is a ${status} ${code} with the common headers`, async () => {
        const { status: actual, json, headers } = await service.get(target);
        expect([actual, json.code]).to.deep.equal([status, code]);
        expect(json.error).to.be.a('string').and.not.equal('');
        expect(headers).to.include({
          'content-type': 'application/json; charset=utf-8',
          'access-control-allow-origin': '*',
          'x-content-type-options': 'nosniff',
        });
        expect(headers).to.include.keys('x-request-id', 'ratelimit', 'ratelimit-policy', 'content-security-policy');
      });
    }

    it('GET outside the base path is a 404 route_not_found', async () => {
      const { status, json } = await request(`${service.origin}/markets`);
      expect([status, json.code]).to.deep.equal([404, 'route_not_found']);
    });

    it('headers that are too large are a 431 headers_too_large', async () => {
      const { status, json, headers } = await service.get('/markets', { headers: { 'X-Long': 'x'.repeat(40_000) } });
      expect([status, json.code]).to.deep.equal([431, 'headers_too_large']);
      expect(headers).to.include.keys('x-request-id', 'access-control-allow-origin');
    });
  });

  describe('request ids', () => {
    it('a harmless X-Request-Id is kept', async () => {
      const { headers } = await service.get('/markets', { headers: { 'X-Request-Id': 'my-request.1' } });
      expect(headers['x-request-id']).to.equal('my-request.1');
    });

    for (const given of ['with space', 'x'.repeat(65), 'a"b', '']) {
      it(`X-Request-Id: ${given.slice(0, 20)} is replaced`, async () => {
        const { headers } = await service.get('/markets', { headers: { 'X-Request-Id': given } });
        expect(headers['x-request-id']).to.match(/^[0-9a-f]{16}-[0-9a-z]+$/);
      });
    }
  });
});

describe('http.cors', () => {
  const withCors = async (cors: unknown, origin: string) => {
    const service = await startTestApp({ config: { http: { cors } } });
    try {
      return (await service.get('/markets', { headers: { Origin: origin } })).headers;
    } finally {
      await service.close();
    }
  };

  it('null allows no origin', async () => {
    const headers = await withCors(null, 'https://a.example');
    expect(headers).to.not.have.property('access-control-allow-origin');
    expect(headers['cross-origin-resource-policy']).to.equal('same-origin');
  });

  it('a list allows its members, and Vary names Origin', async () => {
    const cors = { origin: ['https://a.example', 'https://b.example'] };
    const allowed = await withCors(cors, 'https://b.example');
    expect(allowed['access-control-allow-origin']).to.equal('https://b.example');
    expect(allowed.vary).to.contain('Origin');
    const denied = await withCors(cors, 'https://c.example');
    expect(denied).to.not.have.property('access-control-allow-origin');
    expect(denied.vary).to.contain('Origin');
  });
});

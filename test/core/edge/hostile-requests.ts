/** Malformed and malicious requests by family, with the expected responses. */
import { METHODS } from 'node:http';

interface HostileRequest {
  readonly name: string;
  readonly bytes: string | Buffer;
  readonly status: number;
  /** Expected error code. Undefined if the response is not an error. */
  readonly code?: string;
  readonly closed?: boolean;
}

type Row = readonly [name: string, bytes: string | Buffer];

const BASE = '/api/v1';
const REJECTED = { status: 400, code: 'invalid_parameter' } as const;

const shown = (text: string): string =>
  JSON.stringify(text)
    .slice(1, -1)
    .replace(/[^\x20-\x7e]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`)
    .slice(0, 60);

const all = (family: string, rows: readonly Row[], expected: Omit<HostileRequest, 'name' | 'bytes'>) =>
  rows.map(([name, bytes]): HostileRequest => ({ name: `${family}: ${name}`, bytes, ...expected }));

const named = (texts: readonly string[], bytes: (text: string) => string): Row[] =>
  texts.map((text) => [shown(text), bytes(text)]);

export const hostileRequests = (key: string): readonly HostileRequest[] => {
  const auth = `Authorization: Bearer ${key}\r\n`;
  const head = `Host: test\r\n${auth}`;
  const get = (target: string) => `GET ${target} HTTP/1.1\r\n${head}\r\n`;
  const withFields = (fields: string) => `GET ${BASE}/markets HTTP/1.1\r\n${head}${fields}\r\n`;
  const post = (fields: string, body: string) => `POST ${BASE}/markets HTTP/1.1\r\n${head}${fields}\r\n${body}`;

  const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).concat('\x7f');
  const malformed = { ...REJECTED, closed: true };

  return [
    ...all(
      'method',
      named(['get', 'Get', 'GETT', 'G\0T', 'G T', '', ' GET', '\x80', 'G'.repeat(5000), 'GET\t', '{}'], (method) =>
        get(`${BASE}/markets`).replace('GET', () => method),
      ),
      malformed,
    ),
    ...all(
      'method',
      named(
        METHODS.filter((method) => !['GET', 'HEAD', 'OPTIONS', 'CONNECT'].includes(method)),
        (method) => get(`${BASE}/markets`).replace('GET', method),
      ),
      { status: 405, code: 'method_not_allowed' },
    ),
    ...all(
      'method',
      named(['test:443', '/', '127.0.0.1:6379'], (target) => `CONNECT ${target} HTTP/1.1\r\n${head}\r\n`),
      { status: 405, code: 'method_not_allowed', closed: true },
    ),

    ...all(
      'version',
      named(
        [
          'HTTP/0.9',
          'HTTP/1.2',
          'HTTP/1.10',
          'HTTP/2.0',
          'HTTP/3.0',
          'HTTP/9.9',
          'HTTP/1',
          'HTTP/',
          'http/1.1',
          'HTTPS/1.1',
          'HTTP/1.1x',
          'HTTP/-1.1',
          'HTTP/1,1',
          'HTTP /1.1',
          'ICE/1.0',
          'x',
        ],
        (version) => get(`${BASE}/markets`).replace('HTTP/1.1', version),
      ),
      malformed,
    ),

    ...all(
      'target, raw byte in it',
      named(
        controls.filter((c) => c !== '\n' && c !== '\r'),
        (c) => get(`${BASE}/mar${c}kets`),
      ),
      malformed,
    ),
    ...all(
      'target, line break in it',
      named(['\n', '\r', '\r\n'], (c) => get(`${BASE}/mar${c}kets`)),
      malformed,
    ),
    ...all(
      'target',
      named(['\x80', '\xc3\xa9', '\xff'], (c) => get(`${BASE}/${c}`)),
      malformed,
    ),
    ...all('target', named(['', 'api/v1/markets', '?x', '//['], (t) => get(t)).slice(0, 3), malformed),
    ...all(
      'target of another form',
      named(['http://user@test/', 'http:///api/v1/markets', 'http://', 'ftp://test/', 'test:80', '*'], get),
      REJECTED,
    ),
    ...all(
      'absolute target',
      named(
        [
          'http://test/api/v1/markets',
          'HTTP://other.test:80/api/v1/markets',
          'https://[::1]:8080/api/v1/movers?limit=1',
          'http://test',
          'http://test?x=1',
        ],
        get,
      ),
      { status: 200 },
    ),
    ...all('absolute target', named(['http://test/nowhere'], get), {
      status: 404,
      code: 'route_not_found',
    }),
    ...all(
      'absolute target',
      [['without a Host', `GET http://test/api/v1/markets HTTP/1.1\r\n${auth}\r\n`]],
      malformed,
    ),
    ...all('target', [['OPTIONS *', `OPTIONS * HTTP/1.1\r\n${head}\r\n`]], REJECTED),
    ...all(
      'percent-encoding',
      named(
        [
          '%',
          '%1',
          '%zz',
          '%%',
          '%u0041',
          '%c0%ae%c0%ae',
          '%c0%80',
          '%e0%80%80',
          '%f0%80%80%80',
          '%f8%88%80%80%80',
          '%ff',
          '%fe%ff',
          '%80',
          '%ed%a0%80',
          '%ed%bf%bf',
          '%f4%90%80%80',
          '%c3',
          '%e2%82',
        ],
        (text) => get(`${BASE}/markets/${text}`),
      ),
      REJECTED,
    ),
    ...all(
      'percent-encoding in the query',
      named(['limit=%', 'limit=%zz', '%zz=5', 'limit=%c0%ae', '%ff=5', 'limit=%ed%a0%80', 'limit=5%00%'], (query) =>
        get(`${BASE}/movers?${query}`),
      ),
      REJECTED,
    ),
    ...all(
      'path',
      named(
        [
          '/index.html',
          '/api',
          '/api/v1',
          `${BASE}/`,
          `${BASE}//markets`,
          `${BASE}/markets/`,
          `${BASE}/./markets`,
          `${BASE}/../v1/markets`,
          '/../../etc/passwd',
          `${BASE}/markets;x=1`,
          `${BASE}\\markets`,
          `${BASE}/markets#x`,
          `${BASE}/MARKETS`,
          `${BASE}/__proto__`,
          `${BASE}/constructor`,
          `${BASE}/markets/26420/__proto__`,
          '//test/api/v1/markets',
          '/api/v2/markets',
          '/.git/config',
          '/server-status',
          `${BASE}/markets.json`,
        ],
        get,
      ),
      { status: 404, code: 'route_not_found' },
    ),
    ...all(
      'path parameter',
      named(
        [
          '__proto__',
          'constructor',
          'toString',
          'hasOwnProperty',
          '%00',
          '26420%00',
          '26420%0a',
          '%0d%0aX:%20y',
          '..%2f..%2fetc',
          '%2e%2e',
          '2642',
          '264200',
          '-6420',
          '2e420',
          '26420%20',
          '%d9%a2%d9%a6%d9%a4%d9%a2%d9%a0',
          '{"$gt":""}'.replace(/["{}]/g, (c) => `%${c.charCodeAt(0).toString(16)}`),
          'x'.repeat(4000),
          '26420;DROP',
          "'or'1'='1",
        ],
        (text) => get(`${BASE}/markets/${text}`),
      ),
      REJECTED,
    ),
    ...all(
      'query',
      named(
        [
          '__proto__=1',
          'constructor=1',
          'toString=1',
          '__defineGetter__=1',
          'hasOwnProperty=1',
          '__proto__[x]=1',
          'constructor[prototype][x]=1',
          'limit[]=5',
          'limit[$gt]=5',
          'limit.x=5',
          'api_key=x',
          'access_token=x',
          '%00=1',
          'Limit=5',
          'limit=5;cbsa=1&x',
          '5',
        ],
        (query) => get(`${BASE}/movers?${query}`),
      ).filter(([name]) => !name.startsWith('limit=5;')),
      { status: 400, code: 'unknown_parameter' },
    ),
    ...all(
      'query',
      named(
        [
          'limit=5&limit=6',
          'limit=',
          'limit=0',
          'limit=51',
          'limit=-1',
          'limit=+5',
          'limit=5.0',
          'limit=5e0',
          'limit=0x5',
          'limit=%205',
          'limit=5%00',
          'limit=NaN',
          'limit=Infinity',
          'limit=99999999999999999999',
          'limit=true',
          'limit=null',
          'limit={}',
          'limit=[5]',
          'limit=%EF%BC%95',
          'limit=5;cbsa=1',
          'limit=__proto__',
        ],
        (query) => get(`${BASE}/movers?${query}`),
      ),
      REJECTED,
    ),
    ...all('query', [['the key in it', get(`${BASE}/movers?key=${key}`)]], { status: 400, code: 'unknown_parameter' }),
    ...all('query', [['2,000 parameters', get(`${BASE}/movers?${'a&'.repeat(2000)}`)]], {
      status: 400,
      code: 'invalid_parameter',
    }),
    ...all(
      'length',
      [
        ['a path of 9,000 bytes', get(`${BASE}/${'x'.repeat(9000)}`)],
        ['a query of 9,000 bytes', get(`${BASE}/movers?limit=${'1'.repeat(9000)}`)],
      ],
      { status: 414, code: 'uri_too_long' },
    ),
    ...all(
      'length',
      [
        ['a target of 100,000 bytes', get(`/${'x'.repeat(100_000)}`)],
        ['a field of 100,000 bytes', withFields(`X: ${'x'.repeat(100_000)}\r\n`)],
        ['a field name of 100,000 bytes', withFields(`${'x'.repeat(100_000)}: x\r\n`)],
        ['101 fields', `GET ${BASE}/markets HTTP/1.1\r\n${head}${'X: y\r\n'.repeat(99)}\r\n`],
        ['3,000 fields', withFields('X: y\r\n'.repeat(3000))],
        ['a second key behind 1,000 fields', withFields(`${'X: y\r\n'.repeat(1000)}Authorization: Bearer x\r\n`)],
      ],
      { status: 431, code: 'headers_too_large', closed: true },
    ),

    ...all(
      'Host',
      [
        ['missing', `GET ${BASE}/markets HTTP/1.1\r\n${auth}\r\n`],
        ['twice', withFields('Host: test\r\n')],
        ['twice, in other letters', withFields('HOST: other\r\n')],
        ...named(
          [
            'user@test',
            'a b',
            'a/b',
            'a,b',
            'test:port',
            'test:80:80',
            'test:123456',
            '[::1',
            '::1',
            'http://test',
            'a\\b',
            'a"b',
            '<x>',
            'a?b',
            'a#b',
            '%zz',
            'tést',
            '[::1]x',
          ],
          (host) => `GET ${BASE}/markets HTTP/1.1\r\nHost: ${host}\r\n${auth}\r\n`,
        ).filter(([name]) => name !== 'a,b'),
      ],
      malformed,
    ),

    ...all(
      'framing',
      [
        [
          'Content-Length and Transfer-Encoding',
          post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
        ],
        [
          'Transfer-Encoding and Content-Length',
          post('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', '0\r\n\r\n'),
        ],
        ['two lengths that differ', post('Content-Length: 4\r\nContent-Length: 5\r\n', 'abcde')],
        ['two lengths that agree', post('Content-Length: 4\r\nContent-Length: 4\r\n', 'abcd')],
        ...named(
          [
            '-1',
            '+4',
            '4, 4',
            '4,5',
            '0x4',
            '4.0',
            '4e0',
            'four',
            '٤',
            '4 4',
            '99999999999999999999',
            '18446744073709551616',
            '',
            '4;',
            '"4"',
          ],
          (length) => post(`Content-Length: ${length}\r\n`, 'abcd'),
        ).map(([name, bytes]): Row => [`Content-Length: ${name}`, bytes]),
        ...named(
          [
            'xchunked',
            'chunked, identity',
            'chunked, xchunked',
            'identity',
            'gzip',
            'chunked;x=1',
            '"chunked"',
            'chunked\x0b',
            '\x0bchunked',
            'chu nked',
            'cow',
            ',',
            'chunked,',
            'deflate, gzip',
          ],
          (coding) => `${withFields(`Transfer-Encoding: ${coding}\r\n`)}0\r\n\r\n`,
        ).map(([name, bytes]): Row => [`Transfer-Encoding: ${name}`, bytes]),
        ['Transfer-Encoding twice', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '0\r\n\r\n')],
        ['Transfer-Encoding folded', post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n')],
        ['Transfer-Encoding with a space before the colon', post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n')],
        ['Content-Length with a space before the colon', post('Content-Length : 4\r\n', 'abcd')],
        [
          'chunked in HTTP/1.0',
          `${withFields('Transfer-Encoding: chunked\r\n').replace('HTTP/1.1', 'HTTP/1.0')}0\r\n\r\n`,
        ],
      ],
      malformed,
    ),
    ...all(
      'body of a GET',
      [
        ['with a length', `GET ${BASE}/markets HTTP/1.1\r\n${head}Content-Length: 4\r\n\r\nabcd`],
        [
          'in chunks',
          `GET ${BASE}/markets HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n`,
        ],
        ['that never comes', `GET ${BASE}/markets HTTP/1.1\r\n${head}Content-Length: 1000000\r\n\r\n`],
        [
          'that is another request',
          `GET ${BASE}/markets HTTP/1.1\r\n${head}Content-Length: 30\r\n\r\n${get(`${BASE}/signals`)}`,
        ],
        [
          'in chunks without end',
          `GET ${BASE}/markets HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nffffff\r\nabc`,
        ],
      ],
      malformed,
    ),
    ...all(
      'body of a POST',
      [
        ['that never comes', post('Content-Length: 1000000\r\n', '')],
        ['asked for', post('Content-Length: 1000000\r\nExpect: 100-continue\r\n', '')],
        ['in chunks', post('Transfer-Encoding: chunked\r\n', '4\r\nabcd\r\n0\r\n\r\n')],
        ['followed by another request', post('Content-Length: 4\r\n', `abcd${get(`${BASE}/markets`)}`)],
      ],
      { status: 405, code: 'method_not_allowed', closed: true },
    ),

    ...all(
      'field name with',
      named([...'(),/;<=>?@[\\]{}"', ' ', '\t', '\0', '\x01', '\x7f', '\x80', '\xff'], (c) =>
        withFields(`X${c}Y: z\r\n`),
      ),
      malformed,
    ),
    ...all(
      'field value with',
      named(
        controls.filter((c) => !'\t\n\r'.includes(c)),
        (c) => withFields(`X: a${c}b\r\n`),
      ),
      malformed,
    ),
    ...all(
      'field',
      [
        ['folded by a space', withFields('X: a\r\n b\r\n')],
        ['folded by a tab', withFields('X: a\r\n\tb\r\n')],
        ['the first folded', `GET ${BASE}/markets HTTP/1.1\r\n X: a\r\n${head}\r\n`],
        ['without a colon', withFields('nonsense\r\n')],
        ['without a name', withFields(': x\r\n')],
        ['ended by a bare line feed', withFields('X: a\nY: b\r\n')],
        ['ended by a bare carriage return', withFields('X: a\rY: b\r\n')],
        ['lines ended by bare line feeds', get(`${BASE}/markets`).replaceAll('\r\n', '\n')],
      ],
      malformed,
    ),

    ...all(
      'credentials',
      [
        ['twice', withFields(auth)],
        ['twice, the second empty', withFields('authorization:\r\n')],
        ...named(
          [
            'Bearer',
            'Bearer ',
            `Bearer ${key}, Bearer ${key}`,
            `Bearer ${key},`,
            `Bearer "${key}"`,
            `Bearer\t${key}`,
            `Basic ${key}`,
            key,
            `Bearer ${key}\xa0`,
            `Bearer ${'x'.repeat(8000)}`,
            'Bearer __proto__',
            'Bearer constructor',
            'Negotiate x',
            `Bearer ${key.toUpperCase()}`,
            `Bearer ${key.slice(0, -1)}`,
            `Bearer ${key}x`,
          ],
          (value) => `GET ${BASE}/markets HTTP/1.1\r\nHost: test\r\nAuthorization: ${value}\r\n\r\n`,
        ).map(([name, bytes], i): Row => [`variant ${i}: ${name.replace(key, '<key>').replace(key, '<key>')}`, bytes]),
      ],
      { status: 401, code: 'invalid_api_key' },
    ),
    ...all('credentials', [['in a cookie', `GET ${BASE}/markets HTTP/1.1\r\nHost: test\r\nCookie: ${auth}\r\n`]], {
      status: 401,
      code: 'missing_api_key',
    }),
    ...all(
      'Accept',
      named(['text/html', '*/*;q=0', 'application/json;q=0', 'x'.repeat(500), '__proto__/x'], (accept) =>
        withFields(`Accept: ${accept}\r\n`),
      ),
      { status: 406, code: 'not_acceptable' },
    ),
    ...all(
      'harmless header abuse',
      named(
        [
          '__proto__: 1',
          'constructor: 1',
          'toString: x',
          'X-HTTP-Method-Override: DELETE',
          'X-Forwarded-For: 1.2.3.4, <x>',
          'X-Forwarded-Host: evil.test',
          'X-Original-URL: /admin',
          'Connection: Upgrade\r\nUpgrade: websocket',
          'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk',
          'Connection: x, y, __proto__',
          'Expect: nonsense',
          'If-None-Match: "',
          `If-None-Match: ${'"x",'.repeat(2000)}`,
          'If-Modified-Since: never',
          'Range: bytes=0-18446744073709551615',
          `Accept-Encoding: ${'gzip;q=0.1,'.repeat(500)}`,
          'Accept-Encoding: __proto__',
          `traceparent: ${'0'.repeat(55)}`,
          'X-Request-Id: a\x09b',
          'Origin: null',
          `Cookie: ${'a=b;'.repeat(2000)}`,
          'Content-Length: 0',
          'X: \xff\xfe',
          'TE: trailers',
          'Trailer: Content-Length',
          'Content-Type: application/x-www-form-urlencoded',
          'Host-: x',
          'Access-Control-Request-Method: \xff',
        ],
        (field) => withFields(`${field}\r\n`),
      ),
      { status: 200 },
    ),

    ...all(
      'another protocol',
      [
        ['TLS', Buffer.from('16030100c8010000c40303', 'hex')],
        ['SSH', 'SSH-2.0-OpenSSH_9.0\r\n'],
        ['Redis', '*1\r\n$4\r\nPING\r\n'],
        ['SMTP', 'EHLO test\r\n'],
        ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
        ['MongoDB', Buffer.from('3f0000000100000000000000d407000000000000', 'hex')],
        ['PROXY', `PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n${get(`${BASE}/markets`)}`],
        ['SOCKS', Buffer.from([5, 1, 0])],
        ['bytes from 255 to 0', Buffer.from(Array.from({ length: 256 }, (_, i) => 255 - i))],
        ['a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(get(`${BASE}/markets`))])],
      ],
      malformed,
    ),
  ];
};

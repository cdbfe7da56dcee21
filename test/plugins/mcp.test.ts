/**
 * Calls the endpoints as MCP tools, with the client of the official SDK, over HTTP and over standard input and output.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'chai';
import { toolName } from '../../plugins/mcp/tools.js';
import { commandArgs } from '../support/command-process.js';
import * as fixture from '../support/fixture.js';
import { request } from '../support/http-client.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

const PLUGINS = ['markets', 'forecasts', 'observations', 'signals', 'status'];

const NEGOTIATIONS = { 'a handshake': { mode: 'legacy' }, 'no handshake': { mode: 'auto' } } as const;

const connect = async (
  { origin }: TestApp,
  key: string | undefined,
  versionNegotiation: { mode: 'legacy' | 'auto' } = { mode: 'auto' },
): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation });
  const headers: Record<string, string> = key ? { Authorization: `Bearer ${key}` } : {};
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { requestInit: { headers } }));
  return client;
};

const call = async (client: Client, name: string, given: Record<string, unknown> = {}) => {
  const { content, isError = false } = await client.callTool({ name, arguments: given });
  const [first] = content;
  if (first?.type !== 'text') throw new Error('The tool returned content other than text.');
  return { text: first.text, isError };
};

describe('the plugin mcp', () => {
  let app: TestApp;
  const clients: Client[] = [];
  const open = async (...args: Parameters<typeof connect>): Promise<Client> => {
    const client = await connect(...args);
    clients.push(client);
    return client;
  };

  before(async () => {
    app = await startTestApp({ config: { plugins: [...PLUGINS, 'mcp'] } });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });
  after(() => app.close());

  it('returns the argument for the next page, except on the last page', async () => {
    const client = await open(app, app.key);
    const codes: string[] = [];
    let after: string | undefined;
    do {
      const given = { limit: 2, sort: '-name', ...(after !== undefined && { after }) };
      const { content } = await client.callTool({ name: 'list_markets', arguments: given });
      const [rows, next] = content.map((each) => (each.type === 'text' ? each.text : ''));
      codes.push(...JSON.parse(rows!).data.map(({ cbsa }: { cbsa: string }) => cbsa));
      after = next === undefined ? undefined : /^There is a next page\. .* "after": "([^"]+)"\.$/.exec(next)![1]!;
    } while (after !== undefined && codes.length < 100);
    const { json } = await app.get('/markets?sort=-name');
    expect(codes).to.deep.equal(json.data.map(({ cbsa }: { cbsa: string }) => cbsa));
    expect(codes.length).to.be.above(2);
  });

  for (const [how, negotiation] of Object.entries(NEGOTIATIONS)) {
    it(`lists every endpoint as a read-only tool, and each tool returns the response of its endpoint, after ${how}`, async () => {
      const client = await open(app, app.key, negotiation);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).to.have.members([
        'list_markets',
        'get_market',
        'list_areas',
        'get_area',
        'get_market_drivers',
        'get_market_quantiles',
        'get_forecast_backtest_breakdown',
        'list_forecast_histories',
        'list_forecast_tracks',
        'get_market_history',
        'get_forecast_track',
        'list_forecasts',
        'get_forecast_history',
        'list_forecast_runs',
        'get_forecast_backtest',
        'list_movers',
        'list_observations',
        'list_series',
        'list_signals',
        'get_status',
        'get_ready',
        'get_health',
      ]);
      const document = (await app.get('/openapi.json')).json;
      const paths = Object.entries<{ get: { operationId: string } }>(document.paths);
      for (const { name, description, inputSchema, annotations } of tools) {
        expect(annotations, name).to.include({ readOnlyHint: true });
        expect(description, name).to.be.a('string').that.is.not.empty;
        const [path] = paths.find(([, { get }]) => toolName(get.operationId) === name)!;
        const given: Record<string, unknown> = {};
        const values: Record<string, string> = { cbsa: fixture.HOUSTON, series_id: 'UNRATE', by: 'year' };
        for (const required of inputSchema.required ?? []) given[required] = values[required];
        const result = await call(client, name, given);
        const { cbsa, ...query } = given as Record<string, string>;
        const target = `${path.replace('{cbsa}', cbsa ?? '')}?${new URLSearchParams(query)}`;
        const { text } = await app.get(target.replace(/\?$/, ''));
        expect(withoutTimes(result), name).to.deep.equal(withoutTimes({ text, isError: false }));
      }
    });
  }

  it('passes on arguments of every type, and leaves out null', async () => {
    const client = await open(app, app.key);
    const { text } = await call(client, 'list_movers', { limit: 1 });
    expect(JSON.parse(text).data).to.have.length(1);
    const narrowed = { series_id: 'metro_hpi', cbsa: fixture.HOUSTON, since: '2025-08-01' };
    expect(JSON.parse((await call(client, 'list_observations', narrowed)).text).data).to.have.length(1);
    const unbounded = await call(client, 'list_observations', { ...narrowed, since: null });
    expect(JSON.parse(unbounded.text).data).to.have.length(2);
  });

  for (const [what, tool, given, says] of [
    ['a value out of range', 'list_movers', { limit: 51 }, /limit.+<= 50.+\(invalid_parameter\)/],
    ['an invalid code', 'get_market', { cbsa: 'Houston' }, /cbsa.+\(invalid_parameter\)/],
    ['a path as a code', 'get_market', { cbsa: '26420/history' }, /cbsa.+\(invalid_parameter\)/],
    ['an object as a code', 'get_market', { cbsa: { code: 1 } }, /cbsa.+\(invalid_parameter\)/],
    ['an unknown market', 'get_market', { cbsa: '99999' }, /99999.+\/markets.+\(market_not_found\)/],
    ['a missing path argument', 'get_market', {}, /"cbsa" is required: .+ Example: "26420"/],
    ['a missing query argument', 'list_observations', {}, /"series_id" is required.+\(missing_parameter\)/],
    ['a mistyped argument', 'list_movers', { limt: 3 }, /Did you mean "limit"\?/],
    ['two wrong ones', 'list_observations', { series_id: 'UNRATE', since: 'soon', cbsa: 'x' }, /- since: .+\n- cbsa: /],
  ] as const) {
    it(`responds to ${what} with an error that explains what to do`, async () => {
      const { text, isError } = await call(await open(app, app.key), tool, given);
      expect(isError).to.equal(true);
      expect(text).to.match(says);
    });
  }

  it('rejects an unknown tool, and suggests the nearest name', async () => {
    const client = await open(app, app.key);
    const error = await client.callTool({ name: 'list_market' }).catch((thrown: Error) => thrown);
    expect(error).to.be.instanceOf(Error).with.property('message').that.includes('did you mean "list_markets"?');
  });

  it('suggests arguments to narrow a response that is too long for a model', async () => {
    const small = await startTestApp({
      config: { plugins: [...PLUGINS, { use: 'mcp', options: { path: '/tools/mcp', maxAnswerBytes: 200 } }] },
    });
    try {
      const client = await open({ ...small, origin: `${small.origin}/tools` }, small.key);
      const long = await call(client, 'list_observations', { series_id: 'metro_hpi' });
      expect(long.isError).to.equal(true);
      expect(long.text).to.match(
        /^The result is \d+ bytes long, but the limit is 200\. Narrow it with "series_id" or "since" or "until" or "cbsa"/,
      );
      expect((await call(client, 'get_area', { cbsa: fixture.HOUSTON })).isError).to.equal(false);
    } finally {
      await small.close();
    }
  });

  it('is rejected without a key or with a wrong key, like any request', async () => {
    for (const [key, code] of [
      [undefined, 'missing_api_key'],
      ['mfk_wrong', 'invalid_api_key'],
    ] as const) {
      const error = await connect(app, key, { mode: 'legacy' }).then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      expect(error).to.be.instanceOf(Error);
      const { status, json, headers } = await post(app, key, PING);
      expect([status, json.code]).to.deep.equal([401, code]);
      expect(headers['www-authenticate']).to.match(/^Bearer realm=/);
    }
  });

  it('counts each POST once against the limit of the key', async () => {
    const { key } = await app.newKey({ limit_per_minute: 5 });
    const authorized = { headers: { Authorization: `Bearer ${key}` } };
    for (let left = 4; left >= 2; left--) {
      const { status, headers } = await post(app, key, LIST_MARKETS);
      expect(status).to.equal(200);
      expect(headers['ratelimit']).to.match(new RegExp(`^"default";r=${left};t=`));
    }
    expect((await app.get('/markets', authorized)).status).to.equal(200);
    expect((await post(app, key, LIST_MARKETS)).status).to.equal(200);
    const rejected = await post(app, key, LIST_MARKETS);
    expect([rejected.status, rejected.json.code]).to.deep.equal([429, 'rate_limited']);
    expect(Number(rejected.headers['retry-after'])).to.be.within(1, 60);
    const error = await connect(app, key, { mode: 'legacy' }).then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error).to.be.instanceOf(Error).with.property('message').that.includes('rate_limited');
  });

  it('sends the headers of every response, and rejects other methods and paths', async () => {
    const { headers } = await post(app, app.key, LIST_MARKETS);
    expect(headers['content-type']).to.match(/^application\/json|^text\/event-stream/);
    expect(headers['x-request-id']).to.be.a('string');
    const get = await request(`${app.origin}/mcp`, { headers: { Authorization: `Bearer ${app.key}` } });
    expect([get.status, get.json.code, get.headers['allow']]).to.deep.equal([
      405,
      'method_not_allowed',
      'POST, OPTIONS',
    ]);
    const below = await post({ ...app, origin: `${app.origin}/mcp/below` }, app.key, LIST_MARKETS, '');
    expect([below.status, below.json.code]).to.deep.equal([404, 'route_not_found']);
  });

  it('rejects batches without calling any tool, because each message would be a request', async () => {
    for (const batch of [new Array(100).fill(LIST_MARKETS), [LIST_MARKETS], ' \n[]', [[]]]) {
      const { status, json, text } = await post(app, app.key, batch);
      expect([status, json.error.code, json.id]).to.deep.equal([400, -32600, null]);
      expect(json.error.message).to.match(/^Batches are not supported: send each message in its own POST/);
      expect(text.length).to.be.below(300);
    }
  });

  it('rejects deeply nested messages, and ignores brackets in strings', async () => {
    const nested = (depth: number) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_markets","arguments":${'['.repeat(depth)}${']'.repeat(depth)}}}`;
    for (const message of [nested(31), nested(30_000), `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`]) {
      const { status, json } = await post(app, app.key, message);
      expect([status, json.error.code]).to.deep.equal([400, -32600]);
      expect(json.error.message).to.match(/more than 32 nested levels/);
    }
    expect((await post(app, app.key, nested(30))).status).to.equal(200);
    const before = process.cpuUsage();
    expect((await post(app, app.key, `"${'\\"'.repeat(32_000)}`)).status).to.equal(400);
    expect(process.cpuUsage(before).user).to.be.below(1_000_000);
    const brackets = { name: 'get_market', arguments: { cbsa: '\\"[{'.repeat(100) } };
    expect((await post(app, app.key, { ...LIST_MARKETS, params: brackets })).status).to.equal(200);
  });

  describe('messages of 64 KB', () => {
    const FULL = 60_000;
    const array = (value: unknown = 1) => new Array(Math.floor(FULL / (JSON.stringify(value).length + 1))).fill(value);
    const object = (value: unknown = 1) => Object.fromEntries(array(`12345:${value}`).map((_, i) => [`k${i}`, value]));
    const long = (text = 'x-') => text.repeat(FULL / text.length);
    const message = (method: string, params?: unknown) => ({ jsonrpc: '2.0', id: 1, method, params });
    const initialize = (params: object) => {
      const clientInfo = { name: 'x', version: '1' };
      return message('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo, ...params });
    };
    const listMarkets = (given: unknown) => message('tools/call', { name: 'list_markets', arguments: given });
    const icons = (icon: unknown) => initialize({ clientInfo: { name: 'x', version: '1', icons: icon } });
    const META = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const modern = (given: object) => message('tools/list', { _meta: { ...META, ...given } });

    const MANY_VALUES = {
      'initialize, icons that are numbers': icons(array()),
      'initialize, sizes that are numbers': icons([{ src: 'x', sizes: array() }]),
      'initialize, icons that are strings': icons(array('x')),
      'initialize, many capabilities': initialize({ capabilities: object() }),
      'initialize, many experimental capabilities': initialize({ capabilities: { experimental: object() } }),
      'initialize, arrays of arrays': icons(array([[1]])),
      'tools/list, many parameters': message('tools/list', object()),
      'tools/list, a list as parameters': message('tools/list', array()),
      'tools/list, many metadata': message('tools/list', { _meta: object() }),
      'tools/list without a handshake, icons': modern({ 'io.modelcontextprotocol/clientInfo': { icons: array() } }),
      'tools/list without a handshake, capabilities': modern({
        'io.modelcontextprotocol/clientCapabilities': { experimental: object() },
      }),
      'tools/call, many arguments': listMarkets(object()),
      'tools/call, a list as arguments': listMarkets(array()),
      'tools/call, many values in an argument': listMarkets({ state: array() }),
      'tools/call, objects in objects': listMarkets(object({ a: {} })),
      'ping, many parameters': message('ping', object()),
      'ping, many members': { ...message('ping'), ...object() },
      'notifications/initialized, many metadata': {
        jsonrpc: '2.0',
        method: 'notifications/initialized',
        params: { _meta: object() },
      },
      'notifications/progress, a list as parameters': {
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: array(),
      },
      'notifications/cancelled, many parameters': {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: object(),
      },
      'an unknown method, many parameters': message('no/such', object()),
      'a response, many results': { jsonrpc: '2.0', id: 1, result: object() },
      'nothing of the protocol': object(),
    };
    for (const [what, sent] of Object.entries(MANY_VALUES)) {
      it(`${what}: is rejected with a short message, and 20 of them do not delay other requests`, async () => {
        const body = JSON.stringify(sent);
        expect(body.length).to.be.within(40_000, 65_536);
        const before = process.cpuUsage();
        const responses = Array.from({ length: 20 }, () => post(app, app.key, body));
        expect((await app.get('/markets')).status).to.equal(200);
        for (const { status, json, text } of await Promise.all(responses)) {
          expect([status, json.error.code]).to.deep.equal([400, -32600]);
          expect(json.error.message).to.match(/more than 250 values/);
          expect(text.length).to.be.below(200);
        }
        // Without the limit on values, one message would take up to 0.5 seconds of CPU time to validate.
        expect(process.cpuUsage(before).user).to.be.below(3_000_000);
      });
    }

    const LONG_TEXTS = {
      'the id': { ...message('ping'), id: long() },
      'the method': message(long()),
      'the protocol version': initialize({ protocolVersion: long() }),
      "the client's name": initialize({ clientInfo: { name: long(), version: 1 } }),
      'the name of an unknown member': { ...message('ping'), [long()]: 1 },
      'the name of a capability': initialize({ capabilities: { experimental: { [long()]: 1 } } }),
      'the name of metadata': modern({ [long()]: 1 }),
      'the name of a tool': message('tools/call', { name: long() }),
      'the name of a tool, with escaped characters': message('tools/call', { name: long('\n"').slice(0, FULL / 2) }),
      'the name of an argument': listMarkets({ [long()]: 1 }),
      'the value of an argument': listMarkets({ state: long() }),
      'the value of an argument in the path': message('tools/call', {
        name: 'get_market',
        arguments: { cbsa: long() },
      }),
      'a value in an argument': listMarkets({ state: [long()] }),
    };
    for (const [what, sent] of Object.entries(LONG_TEXTS)) {
      it(`${what}: the response does not repeat it`, async () => {
        const { status, text } = await post(app, app.key, sent);
        expect(status).to.be.oneOf([200, 202, 400]);
        expect(text.length).to.be.below(1500);
      });
    }

    it('many errors: the message reports only the first', async () => {
      const { text } = await post(app, app.key, icons(new Array(200).fill(1)));
      expect(text).to.match(/"error":\{"code":-32603,"message":"\[.+expected object, received number/);
      expect(text.length).to.be.below(1500);
    });

    it('a key in the wrong place: the response does not repeat it', async () => {
      const { key } = await app.newKey();
      for (const secret of [key, key.slice(4)]) {
        for (const sent of [
          message('tools/call', { name: secret }),
          message('tools/call', { name: 'x '.repeat(30) + secret }),
          message('tools/call', { name: secret, arguments: 1 }),
          listMarkets({ [secret]: 1 }),
          listMarkets({ state: secret }),
          initialize({ capabilities: { [secret]: 1, experimental: { [secret]: 1 } } }),
          modern({ 'io.modelcontextprotocol/protocolVersion': secret }),
        ]) {
          for (const headers of [{}, { 'MCP-Protocol-Version': secret }]) {
            const { text } = await post(app, app.key, sent, '/mcp', headers);
            expect(text).to.not.contain(secret).and.not.contain(key.slice(4, 40));
          }
        }
      }
    });
  });

  it('rejects requests from pages of other origins, and with host names that are not allowed', async () => {
    const from = async ({ origin, key }: TestApp, headers: Record<string, string>) =>
      (await post({ origin }, key, LIST_MARKETS, '/mcp', headers)).status;
    const strict = await startTestApp({
      config: {
        plugins: [
          ...PLUGINS,
          { use: 'mcp', options: { allowedOrigins: ['https://assistant.test'], allowedHosts: ['127.0.0.1'] } },
        ],
      },
    });
    try {
      for (const origin of ['http://rebound.test', 'https://assistant.test', 'null', 'http://localhost.rebound.test']) {
        expect(await from(app, { Origin: origin }), origin).to.equal(403);
      }
      for (const origin of ['http://localhost:6274', 'http://127.0.0.1', 'https://[::1]:8443']) {
        expect(await from(app, { Origin: origin }), origin).to.equal(200);
      }
      expect(await from(app, { Host: 'any.test' })).to.equal(200);
      expect(await from(strict, {})).to.equal(200);
      expect(await from(strict, { Origin: 'https://assistant.test' })).to.equal(200);
      expect(await from(strict, { Origin: 'https://assistant.test:8443' })).to.equal(403);
      expect(await from(strict, { Host: 'rebound.test' })).to.equal(403);
    } finally {
      await strict.close();
    }
  });

  it('rejects a body that is too large or is not an MCP message', async () => {
    const large = await post(app, app.key, { ...LIST_MARKETS, params: { name: 'x'.repeat(100_000) } });
    expect(large.status).to.equal(413);
    for (const none of ['no json', '', '{"jsonrpc":', `${'{"a":'.repeat(5000)}`, '\u0000']) {
      const { status, json } = await post(app, app.key, none);
      expect([status, json.error.code, json.id]).to.deep.equal([400, -32700, null]);
    }
    for (const none of [[], 'null', '1', '"text"', '{}', { jsonrpc: '1.0', id: 1, method: 'ping' }]) {
      const { status, json } = await post(app, app.key, none);
      expect([status, json.error.code, json.id ?? null]).to.satisfy(
        ([, code, id]: [number, number, unknown]) => code === -32600 && (id === null || id === 1),
      );
      expect(status).to.equal(400);
    }
    expect((await app.get('/health')).status).to.equal(200);
  });
});

describe('metro-forecast mcp', () => {
  it('serves the tools over standard input and output, and exits when its input ends', async function () {
    this.timeout(60_000);
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: commandArgs(['mcp']),
      env: { PATH: process.env['PATH'] ?? '', METRO__LOG__LEVEL: 'error' },
      stderr: 'pipe',
    });
    let stderr = '';
    transport.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).to.include.members(['list_markets', 'get_status']);
    const market = await call(client, 'get_market', { cbsa: fixture.HOUSTON });
    expect(JSON.parse(market.text)).to.include({ cbsa: fixture.HOUSTON });
    const wrong = await call(client, 'get_market', { cbsa: '1' });
    expect([wrong.isError, wrong.text.includes('(invalid_parameter)')]).to.deep.equal([true, true]);
    await client.close();
    expect(stderr).to.equal('');
  });
});

const LIST_MARKETS = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_markets' } };
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

const post = (
  { origin }: Pick<TestApp, 'origin'>,
  key: string | undefined,
  message: unknown,
  path = '/mcp',
  more: Record<string, string> = {},
) =>
  request(`${origin}${path}`, {
    method: 'POST',
    headers: {
      ...(key ? { Authorization: `Bearer ${key}` } : {}),
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2025-06-18',
      ...more,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });

const withoutTimes = ({ text, isError }: { text: string; isError: boolean }) => ({
  isError,
  body: JSON.parse(text.replace(/"(generated_at|updated_at|age_seconds)":("[^"]*"|\d+)/g, '"$1":null')),
});

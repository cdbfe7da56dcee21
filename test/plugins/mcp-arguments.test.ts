import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'chai';
import { definePlugin, type Parameter, serviceRoute } from '../../core/contracts/plugin.js';
import { argumentName, toolName, uniqueNames } from '../../plugins/mcp/tools.js';
import { commandArgs } from '../support/command-process.js';
import * as fixture from '../support/fixture.js';
import { startTestApp, type TestApp } from '../support/test-app.js';

const text: Parameter = { description: 'Any text.', schema: { type: 'string' } };

const echo = (path: string, operationId: string, parameters: Record<string, Record<string, Parameter>> = {}) =>
  serviceRoute({
    path,
    operationId,
    summary: operationId,
    parameters,
    response: { description: 'The input.', schema: { type: 'object' }, example: {} },
    handler: async (input) => ({ operationId, ...(input as object) }),
  });

const LONG = 'x'.repeat(70);
const notes = definePlugin({
  name: 'notes',
  version: '1.0.0',
  description: 'Notes by title.',
  routes: () => [
    echo('/notes', 'listNotes', { query: { 'size[gte]': text, 'size_gte]': text, [LONG]: text } }),
    echo('/notes/{title}', 'getNote', { path: { title: text } }),
    echo('/notes/latest', 'getLatestNote'),
    echo('/notes/{title}/pages/{page}', 'getPage', { path: { title: text, page: text } }),
    echo('/pages/{constructor}', 'getConstructed', { path: { constructor: text } }),
    echo('/a', 'listXY'),
    echo('/b', 'listXy'),
    echo('/c', 'list_xy'),
    echo('/d', `list${'Long'.repeat(20)}A`),
    echo('/e', `list${'Long'.repeat(20)}B`),
  ],
});

type Call = (name: string, given: Record<string, unknown>) => Promise<{ text: string; isError: boolean }>;

const caller =
  (client: Client): Call =>
  async (name, given) => {
    const { content, isError = false } = await client.callTool({ name, arguments: given });
    return { text: (content[0] as { text: string }).text, isError };
  };

const INVALID_CODES = [
  '.',
  '..',
  '%2e%2e',
  '%2E',
  '../series',
  '..\\series',
  '/',
  '//',
  'forecast-track',
  '26420/history',
  '26420?x',
  '26420#x',
  '26420;x',
  '\u0000',
  ' 26420',
  '26420\n',
  '\ud800',
  'x\udc00',
  '😀',
  'x'.repeat(30_000),
  1,
  true,
  ['26420', '19100'],
  { a: '..' },
] as const;

const rejectsInvalidCodes = async (call: Call): Promise<void> => {
  for (const value of INVALID_CODES) {
    for (const tool of ['get_market', 'get_forecast_track', 'get_forecast_history']) {
      const { text, isError } = await call(tool, { cbsa: value });
      const what = `${tool} ${JSON.stringify(value).slice(0, 40)}`;
      expect(isError, what).to.equal(true);
      expect(text, what).to.match(/"cbsa"|\(uri_too_long\)/);
    }
  }
  for (const left of [undefined, null, '']) {
    expect((await call('get_market', { cbsa: left })).text).to.match(/^The argument "cbsa" is required/);
  }
};

describe('arguments of tools', () => {
  let app: TestApp;
  let client: Client;
  let call: Call;

  before(async () => {
    app = await startTestApp({
      config: { plugins: ['markets', 'forecasts', 'observations', 'signals', 'mcp'] },
      overrides: { plugins: [{ plugin: notes }] },
    });
    client = new Client({ name: 'test', version: '1' });
    const headers = { Authorization: `Bearer ${app.key}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${app.origin}/mcp`), { requestInit: { headers } }));
    call = caller(client);
  });
  after(async () => {
    await client?.close();
    await app?.close();
  });

  it('a path argument that does not fit its schema is an error about the argument', () => rejectsInvalidCodes(call));

  it('a path argument is one path segment of its own route, whatever characters it has', async () => {
    for (const title of [
      'latest',
      '%2e%2e',
      '../latest',
      'a/b',
      'a\\b',
      'a?b=c',
      'a#b',
      '\u0000',
      'é😀',
      '…',
      '+',
      '~',
    ]) {
      const { text } = await call('get_note', { title });
      expect(JSON.parse(text)).to.deep.equal({ operationId: 'getNote', title });
      const below = await call('get_page', { title, page: title });
      expect(JSON.parse(below.text)).to.deep.equal({ operationId: 'getPage', title, page: title });
    }
    for (const title of ['.', '..']) {
      const { text, isError } = await call('get_note', { title });
      expect([isError, text]).to.deep.equal([true, `The argument "title" must not be "${title}". (invalid_parameter)`]);
    }
  });

  it('a lone surrogate in an argument is an error about the argument', async () => {
    for (const given of [{ title: '\ud800' }, { title: 'x', other: 'a\udfffb' }]) {
      const { text, isError } = await call('get_note', given);
      expect([isError, text]).to.satisfy(([, sentence]: [boolean, string]) =>
        /^The argument "(title|other)" must be well-formed Unicode text\.$/.test(sentence),
      );
    }
  });

  it('an undeclared argument is an error, even if it is named like a property of Object.prototype', async () => {
    for (const name of ['limt', 'constructor', 'toString', '\ud800']) {
      const given = JSON.parse(`{"title":"x",${JSON.stringify(name)}:"1"}`);
      const { text, isError } = await call('get_note', given);
      expect([isError, text.includes('(unknown_parameter)')], name).to.deep.equal([true, true]);
    }
    const missing = await call('get_constructed', {});
    expect(missing.text).to.match(/^The argument "constructor" is required/);
    expect(JSON.parse((await call('get_constructed', { constructor: 'x' })).text)).to.include({ constructor: 'x' });
  });

  it('tool names are unique, are at most 64 characters long, and do not depend on other tools', async () => {
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(new Set(names).size).to.equal(names.length);
    for (const name of names) expect(name).to.match(/^[A-Za-z0-9_-]{1,64}$/);
    expect(names).to.include.members(['list_markets', 'list_x_y', 'list_xy']);
    for (const [id, name] of [
      ['listXY', 'list_x_y'],
      ['list_xy', 'list_xy'],
      [`list${'Long'.repeat(20)}A`, `list${'_long'.repeat(20)}_a`],
    ] as const) {
      const found = names.find((each) => each === name || (name.length > 64 && each.startsWith(name.slice(0, 55))));
      expect(JSON.parse((await call(found!, {})).text)).to.deep.equal({ operationId: id });
    }
  });

  it('argument names contain only characters that assistants accept, and map to their parameters', async () => {
    const { tools } = await client.listTools();
    const { properties = {} } = tools.find(({ name }) => name === 'list_notes')!.inputSchema;
    const names = Object.keys(properties);
    expect(names).to.have.length(3);
    for (const name of names) expect(name).to.match(/^[A-Za-z0-9_-]{1,64}$/);
    const given = Object.fromEntries(names.map((name, i) => [name, String(i)]));
    const { text } = await call('list_notes', given);
    expect(JSON.parse(text)).to.deep.equal({
      operationId: 'listNotes',
      'size[gte]': '0',
      'size_gte]': '1',
      [LONG]: '2',
    });
  });

  it('inner requests keep dot segments, and match no other route because of them', async () => {
    for (const target of ['/markets/../series', '/markets/%2e%2e/forecast-track', '/markets/./history']) {
      const { status, body } = await app.app.local.request(target);
      expect([target, status]).to.deep.equal([target, target.endsWith('series') ? 404 : 400]);
      expect(JSON.parse(body)).to.have.property('code');
    }
  });

  it('arguments are checked in the same way over standard input and output', async function () {
    this.timeout(60_000);
    const local = new Client({ name: 'test', version: '1' });
    try {
      await local.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: commandArgs(['mcp']),
          env: { PATH: process.env['PATH'] ?? '', METRO__LOG__LEVEL: 'error' },
        }),
      );
      await rejectsInvalidCodes(caller(local));
      expect(JSON.parse((await caller(local)('get_market', { cbsa: fixture.HOUSTON })).text)).to.include({
        cbsa: fixture.HOUSTON,
      });
    } finally {
      await local.close();
    }
  });
});

describe('names of tools', () => {
  it('do not depend on the order, or on other operations', () => {
    const ids = ['listXY', 'listXy', 'list_xy', `list${'A'.repeat(80)}`];
    const named = (some: readonly string[]) =>
      new Map([...uniqueNames(some, toolName)].map(([name, id]) => [id, name] as const));
    const all = named(ids);
    expect(named([...ids].reverse())).to.deep.equal(new Map([...all].reverse()));
    expect(named(['listXY']).get('listXY')).to.equal(all.get('listXY'));
    expect(new Set(all.values()).size).to.equal(ids.length);
    for (const name of all.values()) expect(name).to.match(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it('exist for parameters without a letter as well', () => {
    expect([...uniqueNames(['[', ']'], argumentName).keys()]).to.satisfy((names: string[]) =>
      names.every((name) => /^_[0-9a-f]{8}$/.test(name)),
    );
  });
});

import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { dataRoute, definePlugin, type Format, type Plugin, type Row } from '../../../core/contracts/plugin.js';
import type { OperatorError } from '../../../core/errors.js';
import { createApp } from '../../../product.js';
import { request } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const TYPE = 'text/x-tabs';
let written = 0;

const tabs: Format = {
  name: 'tabs',
  mediaTypes: [`${TYPE}; charset=utf-8`, 'text/x-tab-columns'],
  description: 'Tab-separated values.',
  async *write(rows, columns) {
    written++;
    const names = columns.map(({ name }) => name);
    yield `${names.join('\t')}\n`;
    for await (const batch of rows) {
      yield batch.map((row) => `${names.map((name) => JSON.stringify(row[name])).join('\t')}\n`).join('');
    }
  },
};

const bytes: Format = {
  name: 'bytes',
  mediaTypes: ['application/x-bytes'],
  description: 'The ids as bytes.',
  isCompressed: true,
  async *write(rows) {
    for await (const batch of rows) yield Uint8Array.from(batch, ({ id }) => Number(id) % 256);
  },
};

const failing: Format = {
  name: 'failing',
  mediaTypes: ['application/x-failing'],
  description: 'Works only for the example.',
  // biome-ignore lint/correctness/useYield: the format fails before it writes anything
  async *write(rows) {
    for await (const _ of rows) throw new Error('cannot be written');
  },
};

/** Formats whose `write` does not yield text or bytes. */
const broken = (name: string, write: () => unknown) =>
  ({ ...tabs, name, mediaTypes: [`application/x-${name}`], write }) as unknown as Format;
const BROKEN: readonly (readonly [Format, string])[] = [
  [
    broken('numbers', async function* () {
      yield 5;
    }),
    'format "numbers" must yield text or bytes, not a value of type number',
  ],
  [broken('text', () => 'text'), 'format "text" must have an async generator as its method write'],
  [broken('promise', async () => 'text'), 'format "promise" must have an async generator as its method write'],
];

const properties = { id: { type: 'integer' }, name: { type: 'string' } } as const;
const response = {
  description: 'Things.',
  schema: {
    type: 'object',
    required: ['data'],
    properties: { data: { type: 'array', items: { type: 'object', required: ['id', 'name'], properties } } },
  },
  example: { data: [] },
} as const;
const THINGS = Array.from({ length: 300 }, (_, id) => ({ id, name: `thing ${id}` }));
const BATCH = Array.from({ length: 1000 }, (_, id) => ({ id, name: 'x'.repeat(100) }));
const MANY = 150;

async function* many() {
  for (let i = 0; i < MANY; i++) yield BATCH;
}

const things: Plugin = definePlugin({
  name: 'things',
  version: '1.0.0',
  description: 'Things in more formats.',
  formats: () => [tabs, bytes, failing],
  routes: () => [
    dataRoute({
      path: '/things',
      operationId: 'listThings',
      summary: 'Things',
      parameters: { query: { names: { description: 'Only names.', schema: { type: 'boolean', default: false } } } },
      response,
      columns: ({ names }) => (names ? ['name'] : undefined),
      handler: async () => ({ data: THINGS }),
    }),
    dataRoute({
      path: '/many',
      operationId: 'listMany',
      summary: 'Many things',
      response,
      handler: async () => ({ data: many() }),
    }),
    dataRoute({
      path: '/one',
      operationId: 'getOne',
      summary: 'A thing',
      response: { description: 'It.', schema: { type: 'object' }, example: {} },
      handler: async () => ({ id: 1 }),
    }),
  ],
});

const asText = (rows: readonly Row[]): string =>
  `id\tname\n${rows.map(({ id, name }) => `${id}\t"${name}"\n`).join('')}`;

describe('a format of a plugin', () => {
  let service: TestApp;
  before(async () => {
    service = await startTestApp({ overrides: { plugins: [{ plugin: things }] } });
  });
  after(() => service.close());

  it('is listed on the front page and in the catalog of datasets', async () => {
    const { json } = await request(`${service.origin}/dcat.jsonld`);
    const titles = json['dcat:dataset'][0]['dcat:distribution'].map((each: object) => Object.entries(each)[1]![1]);
    expect(titles).to.deep.equal(['CSV', 'JSON', 'NDJSON', 'PARQUET', 'TABS', 'BYTES', 'FAILING']);
    const page = await request(`${service.origin}/`, { headers: { Accept: 'text/html' } });
    expect(page.text).to.contain(
      '<code>?format=csv</code>, <code>ndjson</code>, <code>parquet</code>, <code>tabs</code>',
    );
  });

  const choices: readonly (readonly [string, Record<string, string>])[] = [
    ['/things?format=tabs', {}],
    ['/things?format=tabs', { Accept: 'application/json' }],
    ['/things', { Accept: TYPE }],
    ['/things', { Accept: 'text/x-tab-columns' }],
    ['/things', { Accept: `application/json;q=0.5, ${TYPE}` }],
  ];
  for (const [path, headers] of choices) {
    it(`is chosen by GET ${path} ${JSON.stringify(headers)}`, async () => {
      const { status, text, headers: received } = await service.get(path, { headers });
      expect([status, received['content-type']]).to.deep.equal([200, `${TYPE}; charset=utf-8`]);
      expect(text).to.equal(asText(THINGS));
    });
  }

  it('does not change the default, JSON', async () => {
    for (const headers of [{}, { Accept: '*/*' }] as const) {
      expect((await service.get('/things', { headers })).headers['content-type']).to.contain('application/json');
    }
  });

  it('is cached, and has its own ETag', async () => {
    const first = await service.get('/things?format=tabs');
    const before = written;
    const again = await service.get('/things?format=tabs', { headers: { 'If-None-Match': first.headers.etag! } });
    expect([again.status, again.text, written]).to.deep.equal([304, '', before]);
    const json = await service.get('/things', { headers: { 'If-None-Match': first.headers.etag! } });
    expect(json.status).to.equal(200);
  });

  it('responds to HEAD with the headers of GET', async () => {
    const [head, get] = await Promise.all(
      ['HEAD', 'GET'].map((method) => service.get('/things?format=tabs', { method })),
    );
    expect(head!.text).to.equal('');
    for (const name of ['etag', 'content-length', 'content-type'] as const) {
      expect(head!.headers[name]).to.equal(get!.headers[name]);
    }
  });

  it('is compressed unless the format itself is', async () => {
    const headers = { 'Accept-Encoding': 'gzip' };
    const text = await service.get('/things?format=tabs', { headers });
    expect(text.headers['content-encoding']).to.equal('gzip');
    expect(String(gunzipSync(text.bytes))).to.equal(asText(THINGS));
    const binary = await service.get('/things?format=bytes', { headers });
    expect(binary.headers['content-encoding']).to.equal(undefined);
    expect([...binary.bytes]).to.deep.equal(THINGS.map(({ id }) => id % 256));
  });

  it('gets only the chosen columns', async () => {
    const { text } = await service.get('/things?format=tabs&names=true');
    expect(text.split('\n').slice(0, 2)).to.deep.equal(['name', '"thing 0"']);
  });

  it('is sent while it is being written if the list is large', async () => {
    const { text, headers } = await service.get('/many?format=tabs');
    expect(headers['transfer-encoding']).to.equal('chunked');
    expect(text.split('\n')).to.have.length(MANY * BATCH.length + 2);
  });

  it('is not available for a response that is not a list', async () => {
    const byParameter = await service.get('/one?format=tabs');
    const byHeader = await service.get('/one', { headers: { Accept: TYPE } });
    expect([byParameter.status, byHeader.status]).to.deep.equal([400, 406]);
  });

  it('is described in the OpenAPI document, with an example if it is text', async () => {
    const { paths } = (await service.get('/openapi.json')).json;
    const { parameters, responses } = paths['/things'].get;
    const { schema } = parameters.find(({ name }: { readonly name: string }) => name === 'format');
    expect(schema.enum).to.deep.equal(['json', 'csv', 'ndjson', 'parquet', 'tabs', 'bytes', 'failing']);
    const { content } = responses['200'];
    expect(content[TYPE].schema).to.deep.equal({ type: 'string', description: 'Tab-separated values.' });
    expect(content[TYPE].example).to.be.a('string');
    expect(Object.keys(paths['/one'].get.responses['200'].content)).to.deep.equal(['application/json']);
  });

  it('causes a 500 if it fails, and other formats still work', async () => {
    const { status, json } = await service.get('/things?format=failing');
    expect([status, json.code]).to.deep.equal([500, 'internal_error']);
    expect((await service.get('/things?format=bytes')).status).to.equal(200);
  });
});

describe('a format that yields neither text nor bytes', () => {
  const messages: string[] = [];
  let service: TestApp;
  before(async () => {
    const formats = () => BROKEN.map(([format]) => format);
    const onError = (error: unknown) => void messages.push((error as Error).message);
    service = await startTestApp({ overrides: { plugins: [{ plugin: { ...things, formats, onError } }] } });
  });
  after(() => service.close());

  for (const [{ name }, message] of BROKEN) {
    it(`causes a 500 and is named in the error: ${message}`, async () => {
      for (const path of ['/things', '/many']) {
        messages.length = 0;
        expect((await service.get(`${path}?format=${name}`)).status).to.equal(500);
        expect(messages.join()).to.contain(`(${path}) cannot be sent: ${message}`);
      }
    });
  }
});

describe('a format that cannot be used', () => {
  const config = {
    adapter: 'memory',
    plugins: ['status'],
    auth: { keys: 'memory' },
    log: { level: 'silent' },
  } as const;
  const errorsOf = async (formats: unknown): Promise<string> => {
    const plugin = { ...things, routes: () => [], formats: () => formats } as unknown as Plugin;
    const app = await createApp(config, { plugins: [{ plugin }] }).catch((error: OperatorError) => error);
    if (app instanceof Error) return app.message;
    await app.close();
    throw new Error('The application started.');
  };
  for (const [what, formats, message] of [
    ['no list', tabs, 'formats must return a list'],
    ['not an object', ['tabs'], 'must be an object with name, mediaTypes, description and write'],
    ['without a media type', [{ ...tabs, mediaTypes: [] }], 'format "tabs": mediaTypes is empty'],
    ['with an invalid media type', [{ ...tabs, mediaTypes: ['tabs'] }], 'must look like application/vnd.example'],
    ['with an invalid name', [{ ...tabs, name: 'T S' }], 'name must consist of'],
    ['with a misspelt member', [{ ...tabs, write: undefined, wriet: tabs.write }], 'did you mean "write"'],
    ['with the name of another', [{ ...tabs, name: 'csv' }], 'both declare format "csv"'],
    ['with the media type of another', [{ ...tabs, mediaTypes: ['text/csv'] }], 'both declare media type "text/csv"'],
  ] as const) {
    it(`is reported at startup: ${what}`, async () => expect(await errorsOf(formats)).to.contain(message));
  }
});

import { expect } from 'chai';
import { partOf } from '../../../core/app/create-app.js';
import { definePlugin, type Plugin, serviceRoute } from '../../../core/contracts/plugin.js';
import { errors } from '../../../core/errors.js';
import { compileSchema } from '../../../core/validation/compile-schema.js';
import { pointerPath, valueAt } from '../../../core/validation/path.js';
import { parseCsv } from '../../support/csv-parser.js';
import { ATLANTA } from '../../support/fixture.js';
import { request, type TestResponse } from '../../support/http-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

// biome-ignore lint/suspicious/noExplicitAny: the test walks a document of any shape
type Json = any;

const PARQUET = 'application/vnd.apache.parquet';

/** Errors that only services with tiers return. `test/core/pipeline/tiers.test.ts` covers them. */
const OF_TIERS = [errors.not_in_tier.code, errors.quota_exceeded.code];

describe('security schemes', () => {
  const tokens = {
    name: 'tokens',
    version: '1.0.0',
    description: 'Accepts tokens.',
    identity: () => ({ identify: () => undefined }),
  };
  const schemesOf = async (plugin: Plugin): Promise<Json> => {
    const service = await startTestApp({ overrides: { plugins: [{ plugin }] } });
    try {
      const { json } = await request(`${service.url}/openapi.json`);
      return { security: json.security, ...json.components.securitySchemes };
    } finally {
      await service.close();
    }
  };

  it('contain the scheme of a plugin as an alternative to the API key', async () => {
    const securityScheme = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' };
    const { security, ApiKey, tokens: own } = await schemesOf(definePlugin({ ...tokens, securityScheme }));
    expect(security).to.deep.equal([{ ApiKey: [] }, { tokens: [] }]);
    expect(own).to.deep.equal(securityScheme);
    expect(ApiKey.description).to.equal('An opaque API key, sent as `Authorization: Bearer <API_KEY>`.');
  });

  it('mention other credentials if a plugin does not describe them', async () => {
    const { security, ApiKey } = await schemesOf(definePlugin(tokens));
    expect(security).to.deep.equal([{ ApiKey: [] }]);
    expect(ApiKey.description).to.contain('The service also accepts other credentials.');
  });
});

describe('components', () => {
  it('have different names that OpenAPI allows, whatever the titles of the schemas are', async () => {
    const types = { x: 'integer', y: 'string', z: 'integer' };
    const plugins = Object.entries(types).map(([id, type]) =>
      definePlugin({
        name: id,
        version: '1.0.0',
        description: 'Returns a rate.',
        routes: () => [
          serviceRoute({
            path: `/${id}`,
            operationId: `get${id}`,
            summary: 'A rate',
            response: {
              description: 'A rate.',
              schema: { type: 'object', title: 'Daily rate', properties: { rate: { type } } },
              example: {},
            },
            handler: async () => ({}),
          }),
        ],
      }),
    );
    const service = await startTestApp({ overrides: { plugins: plugins.map((plugin) => ({ plugin })) } });
    try {
      const { paths, components }: Json = (await request(`${service.url}/openapi.json`)).json;
      for (const [id, name] of Object.entries({ x: 'Daily_rate', y: 'Daily_rate_2', z: 'Daily_rate' })) {
        const { schema } = paths[`/${id}`].get.responses['200'].content['application/json'];
        expect(schema).to.deep.equal({ $ref: `#/components/schemas/${name}` });
        expect(components.schemas[name].properties.rate.type).to.equal(types[id as keyof typeof types]);
      }
    } finally {
      await service.close();
    }
  });
});

describe('GET /openapi.json', () => {
  let service: TestApp;
  let document: Json;
  before(async () => {
    service = await startTestApp();
    document = (await request(`${service.url}/openapi.json`)).json;
  });
  after(() => service.close());

  const pointer = (reference: string): Json =>
    reference
      .slice(2)
      .split('/')
      .reduce((at, key) => at[key], document);
  const dereferenced = (value: Json): Json => (value?.$ref ? pointer(value.$ref) : value);

  const validator = (schema: Json) =>
    compileSchema({ ...schema, $defs: undefined, components: document.components } as object, { strict: false });

  const operations = (): { path: string; operation: Json }[] =>
    Object.entries<Json>(document.paths).map(([path, { get }]) => ({ path, operation: get }));

  it('needs no key, and is OpenAPI 3.1.0 of interface version 1.0.0', async () => {
    expect(document.openapi).to.equal('3.1.0');
    expect(document.info.version).to.equal('1.0.0');
    expect(document.servers).to.deep.equal([{ url: '/api/v1', description: 'This service' }]);
  });

  it('has every endpoint of the specification, and itself', () => {
    expect(Object.keys(document.paths)).to.have.members([
      '/markets',
      '/markets/{cbsa}',
      '/markets/{cbsa}/history',
      '/markets/{cbsa}/forecast-track',
      '/markets/{cbsa}/drivers',
      '/markets/{cbsa}/quantiles',
      '/areas',
      '/areas/{cbsa}',
      '/forecast-backtest/breakdown',
      '/forecast-history',
      '/forecast-track',
      '/movers',
      '/forecast-backtest',
      '/forecasts',
      '/forecasts/{cbsa}/history',
      '/forecast-runs',
      '/observations',
      '/series',
      '/signals',
      '/vintages',
      '/status',
      '/ready',
      '/health',
      '/openapi.json',
    ]);
  });

  it('has the schemas of the specification by name', () => {
    expect(document.components.schemas).to.include.keys(
      'Market',
      'HpiObservation',
      'MacroObservation',
      'ForecastHistory',
      'ForecastRun',
      'Error',
    );
  });

  it('has valid examples of parameters, responses and errors', () => {
    for (const { path, operation } of operations()) {
      for (const { name, schema, example } of operation.parameters ?? []) {
        // The document has no example of `after`, because its values depend on the list and its order.
        if (name !== 'after') expect(compileSchema(schema)(example), `${path} ${name}`).to.equal(true);
      }
      for (const [status, referenced] of Object.entries(operation.responses)) {
        const { content } = dereferenced(referenced);
        if (!content) continue;
        const { schema, example, examples } = content['application/json'];
        const validate = validator(schema);
        const values = example === undefined ? Object.values<Json>(examples).map(({ value }) => value) : [example];
        expect(values).to.not.be.empty;
        const csv = content['text/csv'];
        if (csv) expect(parseCsv(csv.example), path).to.have.length(example.data.length + 1);
        for (const value of values) {
          expect(validate(value), `${path} ${status} ${JSON.stringify(validate.errors)}`).to.equal(true);
        }
      }
    }
  });

  it('has schemas that match the responses for every allowed value of every parameter', async () => {
    let count = 0;
    for (const { path, operation } of operations()) {
      const target = path.replace('{cbsa}', ATLANTA);
      const validate = validator(operation.responses[200].content['application/json'].schema);
      const required = (operation.parameters ?? []).filter((one: Json) => one.required && one.in === 'query');
      for (const { name, schema, style, explode } of operation.parameters ?? []) {
        const values = schema.items?.enum ?? schema.enum ?? [];
        if (schema.type === 'array') expect([path, style, explode]).to.deep.equal([path, 'form', false]);
        for (const value of name === 'format' ? [] : values) {
          const query = new URLSearchParams(required.map((one: Json) => [one.name, String(one.example)]));
          query.set(name, value);
          const { status, json } = await service.get(`${target}?${query}`);
          // The fixture does not contain the series that `units=real` needs.
          if (value === 'real') continue;
          expect(status, `${target} ${name}=${value}`).to.equal(200);
          expect(validate(json), `${target} ${name}=${value} ${JSON.stringify(validate.errors)}`).to.equal(true);
          count++;
        }
      }
    }
    expect(count).to.be.above(300);
  });

  it('documents every error of the error table, and no other', () => {
    const documented = new Set<string>();
    for (const response of Object.values<Json>(document.components.responses)) {
      for (const code of Object.keys(response.content['application/json'].examples)) documented.add(code);
    }
    const { registry } = partOf(service.app, 'modules');
    const undocumented = new Set<string>([errors.route_not_found.code, ...OF_TIERS]);
    const expected = [...registry.errors.keys()].filter((code) => !undocumented.has(code));
    expect([...documented]).to.have.members(expected);
  });

  const expectDocumented = (path: string, operation: Json, response: TestResponse): void => {
    const described = dereferenced(operation.responses[response.status]);
    expect(described, `${path} ${response.status} is documented`).to.be.an('object');
    // Headers that a route declares are optional, such as the link to the next page.
    const always = Object.entries<Json>(described.headers ?? {}).filter(([, header]) => header.$ref);
    for (const [name] of always) {
      expect(response.headers, `${path} ${response.status} sends ${name}`).to.have.property(name.toLowerCase());
    }
    const known = new Set(Object.keys(document.components.headers).map((name) => name.toLowerCase()));
    const promised = new Set(Object.keys(described.headers ?? {}).map((name) => name.toLowerCase()));
    for (const name of Object.keys(response.headers)) {
      if (known.has(name)) expect(promised, `${path} ${response.status} documents ${name}`).to.include(name);
    }
    if (!described.content) return;
    const type = response.headers['content-type']!.split(';')[0]!;
    expect(described.content, `${path} ${response.status}`).to.have.property(type);
    const validate = validator(described.content[type].schema);
    const body = type === 'application/json' ? response.json : response.text;
    expect(validate(body), `${path} ${JSON.stringify(validate.errors)}`).to.equal(true);
  };

  const target = (path: string, operation: Json): string => {
    const query = (operation.parameters ?? [])
      .filter((parameter: Json) => parameter.in === 'query' && parameter.required)
      .map((parameter: Json) => `${parameter.name}=${parameter.example}`);
    return path.replace('{cbsa}', ATLANTA) + (query.length > 0 ? `?${query.join('&')}` : '');
  };

  it('describes the responses of every operation', async () => {
    for (const { path, operation } of operations()) {
      const url = target(path, operation);
      const response = await service.get(url);
      expect(response.status, url).to.equal(200);
      expectDocumented(path, operation, response);
      const again = await service.get(url, { headers: { 'If-None-Match': response.headers.etag! } });
      expect(again.status, url).to.equal(304);
      expectDocumented(path, operation, again);
      const csv = await service.get(url, { headers: { Accept: 'text/csv' } });
      expect(csv.status, url).to.equal(operation.responses[200].content['text/csv'] ? 200 : 406);
      expectDocumented(path, operation, csv);
      const lines = await service.get(url, { headers: { Accept: 'application/x-ndjson' } });
      expect(lines.status, url).to.equal(csv.status);
      expectDocumented(path, operation, lines);
      const parquet = await service.get(url, { headers: { Accept: PARQUET } });
      expect(parquet.status, url).to.equal(operation.responses[200].content[PARQUET] ? 200 : 406);
      expectDocumented(path, operation, parquet);
    }
  });

  it('has CSV, NDJSON and the parameter `format` for every list, and for no other operation', () => {
    for (const { path, operation } of operations()) {
      const { content } = operation.responses[200];
      const { schema } = content['application/json'];
      const isList = schema.properties?.data?.type === 'array' && path !== '/vintages';
      const columns = content['text/csv'] && parseCsv(content['text/csv'].example)[0];
      const parameter = (operation.parameters ?? []).find(({ name }: Json) => name === 'format');
      const lines = content['application/x-ndjson'];
      expect([Boolean(columns), Boolean(lines), Boolean(parameter)], path).to.deep.equal([isList, isList, isList]);
      if (!isList) continue;
      expect(
        lines.example
          .trimEnd()
          .split('\n')
          .map((line: string) => JSON.parse(line)),
      ).to.deep.equal(content['application/json'].example.data);
      const more = content[PARQUET] ? ['parquet'] : [];
      expect(parameter.schema.enum).to.deep.equal(['json', 'csv', 'ndjson', ...more]);
      const rows = dereferenced(content['application/json'].schema.properties.data.items);
      // Columns can depend on parameters, so the test uses the columns of the example.
      const [row] = content['application/json'].example.data;
      const all = Object.keys(rows.properties);
      const some = ['/observations', '/markets/{cbsa}/history'].includes(path)
        ? all.filter((name) => name in row)
        : all;
      expect(columns, path).to.deep.equal(some);
    }
  });

  it('states the thresholds in each description of signals and grades', () => {
    const properties = (path: string): Json =>
      dereferenced(
        dereferenced(document.paths[path].get.responses[200].content['application/json'].schema.properties.data.items),
      ).properties;
    for (const path of ['/markets', '/signals']) {
      const { signal, risk_score } = properties(path);
      expect(signal.description, path).to.include('of 4% or more').and.include('above 0%');
      expect(risk_score.description, path).to.include(
        'A below 10%, B below 20%, C below 35%, D below 50%, otherwise F',
      );
    }
  });

  it('has the parameter `as_of` for every data endpoint', () => {
    const withVintages = operations().filter(({ operation }) =>
      (operation.parameters ?? []).some(({ name }: Json) => name === 'as_of'),
    );
    const others = ['/vintages', '/status', '/ready', '/health', '/openapi.json'];
    expect(withVintages.map(({ path }) => path)).to.have.members(
      Object.keys(document.paths).filter((path) => !others.includes(path)),
    );
  });

  it('links responses with markets and series to the operations that take their ids', () => {
    const links = Object.fromEntries(
      operations().flatMap(({ operation }) => {
        const names = Object.keys(operation.responses[200].links ?? {});
        return names.length > 0 ? [[operation.operationId, names]] : [];
      }),
    );
    const ofMarket = [
      'getMarketHistory',
      'getForecastTrack',
      'getForecastHistory',
      'getMarketDrivers',
      'getMarketQuantiles',
    ];
    const ofMarkets = ['getMarket', ...ofMarket];
    expect(Object.keys(links)).to.have.members([
      'listMarkets',
      'getMarket',
      'listForecasts',
      'listSignals',
      'listMovers',
      'listSeries',
      'listAreas',
    ]);
    expect(links['listAreas']).to.deep.equal(['getArea']);
    expect(links['getMarket']).to.have.members(ofMarket);
    expect(links['listSeries']).to.deep.equal(['listObservations']);
    for (const name of ['listMarkets', 'listForecasts', 'listSignals', 'listMovers']) {
      expect(links[name], name).to.have.members(ofMarkets);
    }
  });

  it('has links to operations that return a 200', async () => {
    for (const { path, operation } of operations()) {
      const links = Object.values<Json>(operation.responses[200].links ?? {});
      const { json } = await service.get(target(path, operation));
      for (const { operationId, parameters } of links) {
        const linked = operations().find((other) => other.operation.operationId === operationId)!;
        const declared = linked.operation.parameters.map(({ name }: Json) => name);
        expect(declared, operationId).to.include.members(Object.keys(parameters));
        let url = linked.path;
        const query = new URLSearchParams();
        for (const [name, expression] of Object.entries<string>(parameters)) {
          expect(expression).to.match(/^\$response\.body#\//);
          const value = valueAt(json, pointerPath(expression.replace('$response.body#', ''), json));
          expect(value, `${operation.operationId} ${expression}`).to.be.a('string');
          if (url.includes(`{${name}}`)) url = url.replace(`{${name}}`, String(value));
          else query.set(name, String(value));
        }
        const { status } = await service.get(query.size > 0 ? `${url}?${query}` : url);
        expect(status, `${operation.operationId} to ${url}`).to.equal(200);
      }
    }
  });

  it('describes the errors of every operation', async () => {
    for (const { path, operation } of operations()) {
      const url = target(path, operation);
      const provoked = [
        await service.get(`${url}${url.includes('?') ? '&' : '?'}nope=1`),
        await service.get(url, { headers: { Accept: 'image/png' } }),
        await service.get(url, { method: 'DELETE' }),
        await service.get(`${url}${url.includes('?') ? '&' : '?'}nope=${'x'.repeat(9000)}`),
        await service.get(path.replace('{cbsa}', '99999')),
        await service.get(path.replace('{cbsa}', 'x')),
        await request(`${service.url}${url}`),
        await service.get(url, { headers: { Authorization: 'Bearer x' } }),
      ];
      for (const response of provoked) {
        if (response.status === 414 && !operation.responses[414]) throw new Error(`${path} lacks 414`);
        expectDocumented(path, operation, response);
      }
      const { key } = await service.newKey({ limit_per_minute: 1 });
      const headers = { Authorization: `Bearer ${key}` };
      // Every request with a key counts against the limit, even an invalid request.
      const invalid = `${url}${url.includes('?') ? '&' : '?'}nope=1`;
      await service.get(invalid, { headers });
      const limited = await service.get(invalid, { headers });
      expect(limited.status, url).to.equal(429);
      expectDocumented(path, operation, limited);
    }
  });

  it('states correctly which operations need a key', async () => {
    for (const { path, operation } of operations()) {
      const { status } = await request(`${service.url}${target(path, operation)}`);
      expect(status, path).to.equal(operation.security ? 200 : 401);
    }
  });
});

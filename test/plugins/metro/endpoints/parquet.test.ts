import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openDirectory } from '../../../../core/data/directory.js';
import { packageRoot } from '../../../../core/util/package.js';
import { HOUSTON } from '../../../support/fixture.js';
import { otherAdapters, publishTo } from '../../../support/other-adapters.js';
import { readParquet } from '../../../support/parquet-reader.js';
import { needPythonPackage } from '../../../support/python-package.js';
import { startTestApp, type TestApp } from '../../../support/test-app.js';

const sample = join(packageRoot, 'plugins/metro/dataset');
const TYPE = 'application/vnd.apache.parquet';

const RUN = [
  'run_at TIMESTAMP REQUIRED',
  'model_version STRING REQUIRED',
  'horizon_months INT64 REQUIRED',
  'target_period DATE REQUIRED',
  'point DOUBLE REQUIRED',
  'lower_80 DOUBLE OPTIONAL',
  'upper_80 DOUBLE OPTIONAL',
  'basis STRING REQUIRED',
  'vintage DATE OPTIONAL',
];
const TRACK = [
  ...RUN,
  'run_id INT64 REQUIRED',
  'signal STRING OPTIONAL',
  'risk_score STRING OPTIONAL',
  'realized DOUBLE OPTIONAL',
  'error_pp DOUBLE OPTIONAL',
  'within_80 BOOLEAN OPTIONAL',
  'realized_as_of DATE OPTIONAL',
  'decline_probability DOUBLE OPTIONAL',
  'benchmark DOUBLE OPTIONAL',
  'ar1_nation DOUBLE OPTIONAL',
  'shrunk_mean DOUBLE OPTIONAL',
];
const OBSERVATION = ['period_start DATE REQUIRED', 'value DOUBLE REQUIRED', 'cbsa STRING OPTIONAL'];

const MARKET = [
  'id INT64 OPTIONAL',
  'cbsa STRING REQUIRED',
  'name STRING REQUIRED',
  'signal STRING OPTIONAL',
  'risk_score STRING OPTIONAL',
  'yoy_price DOUBLE OPTIONAL',
  'forecast_12m DOUBLE OPTIONAL',
  'lower_80 DOUBLE OPTIONAL',
  'upper_80 DOUBLE OPTIONAL',
  'decline_probability DOUBLE OPTIONAL',
  'target_period DATE OPTIONAL',
  'run_id INT64 OPTIONAL',
  'basis STRING OPTIONAL',
  'kind STRING OPTIONAL',
];

const LISTS: Readonly<Record<string, readonly string[]>> = {
  '/observations?series_id=metro_hpi': OBSERVATION,
  '/observations?series_id=UNRATE&since=2999-01-01': OBSERVATION,
  '/observations?series_id=CPIAUCSL,metro_hpi&units=real': [
    'series_id STRING OPTIONAL',
    ...OBSERVATION,
    'deflator STRING OPTIONAL',
    'base_period DATE OPTIONAL',
  ],
  '/markets?': MARKET,
  '/series?': [
    ...['series_id', 'title', 'kind', 'geography', 'cadence', 'source', 'units'].map(
      (name) => `${name} STRING REQUIRED`,
    ),
    'seasonal_adjustment STRING OPTIONAL',
    'observation_start DATE OPTIONAL',
    'observation_end DATE OPTIONAL',
    'last_updated TIMESTAMP OPTIONAL',
    'notes STRING OPTIONAL',
    'supported_units STRING REQUIRED',
  ],
  [`/forecasts/${HOUSTON}/history?since=2020-01-01`]: RUN,
  [`/markets/${HOUSTON}/forecast-track?`]: TRACK,
  '/forecast-history?': ['cbsa STRING REQUIRED', ...RUN],
  '/forecast-track?': ['cbsa STRING REQUIRED', ...TRACK],
};

const READ: typeof LISTS = {
  '/observations?series_id=metro_hpi&': OBSERVATION,
  '/observations?series_id=UNRATE&since=2999-01-01': OBSERVATION,
  '/forecast-track?since=2025-01-01': ['cbsa STRING REQUIRED', ...TRACK],
};

type Row = Readonly<Record<string, unknown>>;

/** In a Parquet file, every row has every column, and times have milliseconds. */
const expectedRows = (rows: readonly Row[], columns: readonly string[]): Row[] =>
  rows.map((row) =>
    Object.fromEntries(
      columns.map((column) => {
        const [name = '', type] = column.split(' ');
        const value = row[name] ?? null;
        if (type === 'TIMESTAMP') return [name, new Date(value as string).toISOString()];
        return [name, Array.isArray(value) ? JSON.stringify(value) : value];
      }),
    ),
  );

/**
 * Python functions that read a Parquet file into dictionaries. DuckDB would need another package to read times with
 * time zones.
 */
const READERS = {
  pyarrow: `
import pyarrow.parquet

def rows(path): return pyarrow.parquet.read_table(path).to_pylist()
`,
  duckdb: `
import duckdb

def rows(path):
    table = duckdb.read_parquet(path)
    columns = zip(table.columns, table.types)
    as_utc = (f'make_timestamp(epoch_us({name})) {name}' if 'ZONE' in str(kind) else name for name, kind in columns)
    return [dict(zip(table.columns, row)) for row in table.project(', '.join(as_utc)).fetchall()]
`,
};

const PROGRAM = `
import datetime, json, sys

def text(value):
    if isinstance(value, datetime.datetime):
        return value.strftime('%Y-%m-%dT%H:%M:%S.') + '%03dZ' % (value.microsecond // 1000)
    return value.isoformat()

json.dump([rows(path) for path in json.load(sys.stdin)], sys.stdout, default=text)
`;

describe('format=parquet', function () {
  this.timeout(60_000);
  let service: TestApp;
  before(async () => {
    service = await startTestApp({ config: { adapter: { use: 'json', options: { path: sample } } } });
  });
  after(() => service.close());

  for (const [list, columns] of Object.entries(LISTS)) {
    it(`GET ${list}&format=parquet has the rows of the JSON, with the types of the schema`, async () => {
      const { status, headers, bytes } = await service.get(`${list}&format=parquet`);
      expect([status, headers['content-type']]).to.deep.equal([200, TYPE]);
      const { data } = (await service.get(list)).json;
      const file = await readParquet(bytes);
      expect(file.columns).to.deep.equal(columns);
      expect(file.rows).to.deep.equal(expectedRows(data, columns));
      if (list.includes('2999')) expect(data).to.deep.equal([]);
      else expect(data).to.not.be.empty;
    });
  }

  it('is one representation with its own ETag, which `Accept` selects as well, and supports HEAD and 304', async () => {
    const list = '/observations?series_id=metro_hpi&cbsa=26420';
    const named = await service.get(`${list}&format=parquet`);
    const accepted = await service.get(list, { headers: { Accept: TYPE } });
    expect(accepted.bytes.equals(named.bytes)).to.equal(true);
    const { etag } = named.headers;
    expect(accepted.headers.etag).to.equal(etag);
    expect((await service.get(list)).headers.etag).to.not.equal(etag);
    const head = await service.get(`${list}&format=parquet`, { method: 'HEAD' });
    expect([head.status, head.bytes.length, head.headers['content-length'], head.headers.etag]).to.deep.equal([
      200,
      0,
      String(named.bytes.length),
      etag,
    ]);
    const current = await service.get(`${list}&format=parquet`, { headers: { 'If-None-Match': etag! } });
    expect([current.status, current.bytes.length, current.headers.etag]).to.deep.equal([304, 0, etag]);
  });

  it('is not compressed again', async () => {
    for (const encoding of ['br', 'gzip']) {
      const headers = { 'Accept-Encoding': encoding };
      const packed = await service.get('/forecast-track?format=parquet', { headers });
      expect([packed.status, packed.headers['content-encoding']]).to.deep.equal([200, undefined]);
      expect([...(await readParquet(packed.bytes)).codecs]).to.deep.equal(['SNAPPY']);
      const csv = await service.get('/forecast-track?format=csv', { headers });
      expect(csv.headers['content-encoding']).to.equal(encoding);
    }
  });

  it('is never sent to a client that does not ask for it', async () => {
    for (const accept of ['*/*', 'application/*', `application/json, ${TYPE};q=0.9`]) {
      const { headers } = await service.get('/forecast-track', { headers: { Accept: accept } });
      expect(headers['content-type'], accept).to.include('application/json');
    }
  });

  it('has nested values as JSON', async () => {
    const { rows, columns } = await readParquet((await service.get('/forecast-runs?format=parquet')).bytes);
    const { data } = (await service.get('/forecast-runs')).json;
    for (const name of ['features', 'rules', 'coefficients']) {
      expect(columns).to.include(`${name} STRING ${name === 'coefficients' ? 'REQUIRED' : 'OPTIONAL'}`);
      const parsed = rows.map((row) => JSON.parse(String((row as Row)[name])));
      expect(parsed).to.deep.equal(data.map((row: Row) => row[name]));
    }
  });

  it('is a 400, or a 406 if requested with `Accept`, for responses that are not lists', async () => {
    const one = `/markets/${HOUSTON}`;
    const { status, json } = await service.get(`${one}?format=parquet`);
    expect([status, json.details[0].name]).to.deep.equal([400, 'format']);
    expect((await service.get(one, { headers: { Accept: TYPE } })).status).to.equal(406);
    const misspelt = await service.get('/forecast-track?format=parqet');
    expect([misspelt.status, misspelt.text.includes('parquet')]).to.deep.equal([400, true]);
  });

  it('returns errors as JSON', async () => {
    const { status, json } = await service.get('/forecasts/99999/history?format=parquet');
    expect([status, json.code]).to.deep.equal([404, 'market_not_found']);
  });

  for (const [adapter, section] of Object.entries(otherAdapters)) {
    it(`has the same bytes on ${adapter} as on json`, async () => {
      const other = await startTestApp({ config: { adapter: await section() } });
      try {
        await publishTo(other, (await openDirectory(sample)).dataset);
        for (const list of Object.keys(LISTS)) {
          const [here, there] = [
            await service.get(`${list}&format=parquet`),
            await other.get(`${list}&format=parquet`),
          ];
          expect(there.status, list).to.equal(200);
          expect(there.bytes.equals(here.bytes), list).to.equal(true);
        }
      } finally {
        await other.close();
      }
    });
  }

  for (const [reader, rows] of Object.entries(READERS)) {
    it(`is read by ${reader}`, async function () {
      this.timeout(180_000);
      const python = await needPythonPackage(this, reader);
      const folder = await mkdtemp(join(tmpdir(), 'parquet-'));
      try {
        const paths: string[] = [];
        const wanted: Row[][] = [];
        for (const [list, columns] of Object.entries(READ)) {
          const path = join(folder, `${paths.length}.parquet`);
          await writeFile(path, (await service.get(`${list}&format=parquet`)).bytes);
          paths.push(path);
          wanted.push(expectedRows((await service.get(list)).json.data, columns));
        }
        const lists = JSON.parse(await python(['-c', rows + PROGRAM], JSON.stringify(paths))) as Row[][];
        for (const [at, rows] of lists.entries()) expect(rows, Object.keys(READ)[at]).to.deep.equal(wanted[at]);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
  }
});

/**
 * SQLite with Fastify, as an engineer would write it for one table. It has prepared statements, a memory-mapped file,
 * hashed bearer keys, in-memory limits, schema validation, ETags, a request log and streamed exports, but no metrics or
 * versions.
 */
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import etag from '@fastify/etag';
import Fastify from 'fastify';
import Database from 'libsql';
import { log } from './everything.js';

/** @type {{ dataset: string, database: string, limits: string }} */
const options = JSON.parse(process.argv[2] ?? '{}');
const { key, orders, schema } = JSON.parse(readFileSync(join(options.dataset, 'sales.collection.json'), 'utf8'));
const manifest = JSON.parse(readFileSync(join(options.dataset, 'manifest.json'), 'utf8'));
const columns = Object.keys(schema.properties);
const limits = new Map(Object.entries(JSON.parse(readFileSync(options.limits, 'utf8'))));

const db = new Database(options.database);
db.exec(
  'PRAGMA journal_mode = WAL; PRAGMA mmap_size = 4000000000; PRAGMA cache_size = -16000; PRAGMA synchronous = OFF',
);

const load = async () => {
  db.exec(`CREATE TABLE sales (${columns.join(', ')}, PRIMARY KEY (${key})) WITHOUT ROWID`);
  const insert = db.prepare(`INSERT INTO sales VALUES (${columns.map(() => '?')})`);
  db.exec('BEGIN');
  const file = join(options.dataset, manifest.collections.sales.file);
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const row = JSON.parse(line);
    insert.run(columns.map((column) => row[column]));
  }
  db.exec('COMMIT');
  for (const order of orders) db.exec(`CREATE INDEX "${order}" ON sales (${order})`);
  db.exec('CREATE VIRTUAL TABLE words USING fts5 (note, id UNINDEXED)');
  db.exec('INSERT INTO words SELECT note, id FROM sales WHERE note IS NOT NULL');
  db.exec('ANALYZE');
};
if (db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'sales'").get() === undefined) await load();

// By default, Fastify logs two lines per request. The service logs one line.
const app = Fastify({ loggerInstance: log, disableRequestLogging: true });
app.addHook('onResponse', async ({ id, method, routeOptions }, { statusCode: status, elapsedTime: ms }) => {
  log.info({ reqId: id, method, route: routeOptions.url ?? 'none', status, ms }, 'request');
});
const windows = new Map();

const take = (hash) => {
  const minute = Math.floor(Date.now() / 60_000);
  const window = windows.get(hash);
  if (window?.minute === minute) window.count++;
  else windows.set(hash, { minute, count: 1 });
  return windows.get(hash).count;
};

app.addHook('onRequest', async (request, reply) => {
  const { authorization = '' } = request.headers;
  const hash = createHash('sha256').update(authorization.slice('Bearer '.length)).digest('hex');
  const limit = limits.get(hash);
  if (limit === undefined) return reply.code(401).send({ error: 'The API key is missing or invalid.' });
  const count = take(hash);
  reply.header('RateLimit', `"default";r=${Math.max(0, limit - count)};t=60`);
  if (count > limit) return reply.code(429).send({ error: 'Too many requests.' });
});
await app.register(etag);

const statements = new Map();
const prepare = (sql) => {
  if (!statements.has(sql)) statements.set(sql, db.prepare(sql));
  return statements.get(sql);
};

const cell = (value) => {
  if (value === null) return '';
  return typeof value === 'string' && /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : String(value);
};

function* csv() {
  let chunk = `${columns.join()}\r\n`;
  for (const row of prepare('SELECT * FROM sales ORDER BY id').raw().iterate()) {
    chunk += `${row.map(cell).join()}\r\n`;
    if (chunk.length < 65_536) continue;
    yield chunk;
    chunk = '';
  }
  yield chunk;
}

const ORDERS = { id: 'id', kind: 'kind, price, id', city: 'city, sold_on, id', sold_on: 'sold_on, id' };

/** FTS5 would interpret an unquoted word such as `OR` as an operator. */
const quoted = (q) =>
  q
    .split(' ')
    .map((word) => `"${word.replaceAll('"', '""')}"`)
    .join(' ');

const list = (input) => {
  const { kind, city, sort = 'id', limit = 100, after, q } = input;
  const [from, to] = [input['sold_on[gte]'], input['sold_on[lte]']];
  const conditions = [];
  const values = [];
  const where = (condition, ...given) => {
    conditions.push(condition);
    values.push(...given);
  };
  if (kind !== undefined) where('kind = ?', kind);
  if (city !== undefined) where('city = ?', city);
  if (from !== undefined) where('sold_on >= ?', from);
  if (to !== undefined) where('sold_on <= ?', to);
  if (q !== undefined) where('id IN (SELECT id FROM words WHERE words MATCH ?)', quoted(q));
  if (after !== undefined) {
    const [order, ...place] = JSON.parse(Buffer.from(after, 'base64url').toString());
    where(`(${order}) > (${place.map(() => '?')})`, ...place);
  }
  const wheres = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
  const order = ORDERS[sort];
  return prepare(`SELECT * FROM sales ${wheres} ORDER BY ${order} LIMIT ?`).all([...values, limit]);
};

const MEASURES = 'count(*) AS count, sum(price) AS sum, avg(price) AS mean, min(price) AS min, max(price) AS max';

const totals = ({ by, of, sort = 'by', limit = 100 }) => {
  const order = sort === '-count' ? `count(*) DESC, ${by}` : by;
  const measures = of === undefined ? 'count(*) AS count' : MEASURES;
  return prepare(`SELECT ${by}, ${measures} FROM sales GROUP BY ${by} ORDER BY ${order} LIMIT ?`).all([limit]);
};

const text = { type: 'string' };
const querystring = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...{ kind: text, city: text, 'sold_on[gte]': text, 'sold_on[lte]': text, after: text, q: text },
    sort: { enum: Object.keys(ORDERS) },
    limit: { type: 'integer', minimum: 1, maximum: 1000 },
    format: { enum: ['json', 'csv'] },
  },
};
const row = { type: 'object', properties: schema.properties };
const rows = { type: 'object', properties: { data: { type: 'array', items: row } } };

const totalsQuery = {
  type: 'object',
  additionalProperties: false,
  required: ['by'],
  properties: {
    ...{ by: { enum: ['kind', 'city', 'rooms', 'kind,rooms'] }, of: { enum: ['price'] }, sort: { enum: ['-count'] } },
    limit: { type: 'integer', minimum: 1, maximum: 1000 },
  },
};
app.get('/api/v1/totals/sales', { schema: { querystring: totalsQuery } }, async ({ query }) => ({
  data: totals(query),
}));
app.get('/api/v1/sales/:id', { schema: { response: { 200: row } } }, async (request, reply) => {
  const found = prepare('SELECT * FROM sales WHERE id = ?').get([request.params.id]);
  return found ?? reply.callNotFound();
});
app.get('/api/v1/sales', { schema: { querystring, response: { 200: rows } } }, async (request, reply) => {
  if (request.query.format === 'csv') return reply.type('text/csv').send(Readable.from(csv()));
  return { data: list(request.query) };
});

await app.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`http://127.0.0.1:${app.server.address().port}\n`);
process.once('SIGTERM', () => process.exit(0));

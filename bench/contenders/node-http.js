/**
 * The bare server of Node with every answer prepared as bytes, in each encoding and with its ETag, and without keys and
 * limits: the ceiling for anything written on it. Where it is told to, it waits for a PING of Redis before each answer.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { answers, orders, ready } from './support.js';

const SHORTEST_COMPRESSED = 1024;
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** @param {Buffer} body @param {string | undefined} encoding */
const representation = (body, encoding) => {
  const etag = `"${createHash('sha1').update(body).digest('base64')}"`;
  const head = ['Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(body.length), 'ETag', etag];
  return { etag, body, head: encoding ? [...head, 'Content-Encoding', encoding] : head, notModified: ['ETag', etag] };
};

/** @param {{ status: number, body: unknown }} answer */
const prepare = ({ status, body }) => {
  const bytes = Buffer.from(JSON.stringify(body));
  const identity = representation(bytes, undefined);
  if (bytes.length < SHORTEST_COMPRESSED) return { status, identity, gzip: identity, br: identity };
  const gzip = representation(gzipSync(bytes), 'gzip');
  return { status, identity, gzip, br: representation(brotliCompressSync(bytes, QUALITY), 'br') };
};

const prepared = new Map([...answers].map(([path, answer]) => [path, prepare(answer)]));

/** @param {string | undefined} accepted */
const encodingFor = (accepted) => {
  if (!accepted) return 'identity';
  return accepted.includes('br') ? 'br' : accepted.includes('gzip') ? 'gzip' : 'identity';
};

/** @type {import('node:http').RequestListener} */
const respond = (request, response) => {
  const answer = prepared.get(request.url ?? '');
  if (!answer) return void response.writeHead(404).end();
  const { etag, head, body, notModified } = answer[encodingFor(request.headers['accept-encoding'])];
  if (request.headers['if-none-match'] === etag) response.writeHead(304, notModified).end();
  else response.writeHead(answer.status, head).end(body);
};

const redis = orders.pings ? new Redis(orders.redis) : undefined;
const server = createServer(redis ? (...exchange) => void redis.ping().then(() => respond(...exchange)) : respond);
server.listen(0, '127.0.0.1', () => ready(server.address().port));

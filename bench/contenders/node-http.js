/**
 * Node's HTTP server with prepared bytes and ETags. It checks neither keys nor limits, so its speed is an upper bound
 * for any server on Node.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { answers, ready } from './support.js';

const MIN_COMPRESSED = 1024;
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** @param {Buffer} body @param {string} [encoding] */
const represent = (body, encoding) => {
  const etag = `"${createHash('sha1').update(body).digest('base64')}"`;
  const head = ['Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(body.length), 'ETag', etag];
  return { etag, body, head: encoding ? [...head, 'Content-Encoding', encoding] : head };
};

/** @param {{ status: number, body: unknown }} answer */
const prepare = ({ status, body }) => {
  const bytes = Buffer.from(JSON.stringify(body));
  const identity = represent(bytes);
  if (bytes.length < MIN_COMPRESSED) return { status, identity, gzip: identity, br: identity };
  const br = represent(brotliCompressSync(bytes, QUALITY), 'br');
  return { status, identity, gzip: represent(gzipSync(bytes), 'gzip'), br };
};

const prepared = new Map([...answers].map(([path, answer]) => [path, prepare(answer)]));

/** @param {string} [accepted] */
const encodingFor = (accepted = '') =>
  accepted.includes('br') ? 'br' : accepted.includes('gzip') ? 'gzip' : 'identity';

const server = createServer(({ url = '', headers }, response) => {
  const answer = prepared.get(url);
  if (!answer) return void response.writeHead(404).end();
  const { etag, head, body } = answer[encodingFor(String(headers['accept-encoding']))];
  if (headers['if-none-match'] === etag) response.writeHead(304, ['ETag', etag]).end();
  else response.writeHead(answer.status, head).end(body);
});
server.listen(0, '127.0.0.1', () => ready(server.address().port));

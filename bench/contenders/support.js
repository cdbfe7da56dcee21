/** What the contenders written for Node share: their orders, the finished answers, the keys with their limits. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * @typedef {object} Orders
 * @property {string} answers a file: the service's OpenAPI document, and what the service answers by path
 * @property {string} keys a file: requests per minute by the SHA-256 of each valid key
 * @property {string} redis where Redis is
 * @property {boolean} everything whether all that the service does is wanted
 * @property {boolean} pings whether each response waits for a PING of Redis
 */

/** @type {Orders} What the runner wants of this process. */
export const orders = JSON.parse(process.argv[2] ?? '{}');

/** Every contender answers under the service's own path. */
export const BASE = '/api/v1';

/** @param {string} path */
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

const { document, responses } = readJson(orders.answers);

/** The OpenAPI document of what is to be served. */
export const openapi = document;

/**
 * By path with query, the object to serialise and its status: a contender has nothing to compute, look up in an index or
 * filter, which is in its favour.
 * @type {Map<string, { status: number, body: unknown }>}
 */
export const answers = new Map(Object.entries(responses));

/** The endpoints of data as `/markets/:cbsa/history`, with what OpenAPI says of each. */
export const endpoints = Object.entries(openapi.paths)
  .filter(([, { get }]) => get.security === undefined)
  .map(([path, { get }]) => ({ path: path.replaceAll(/\{(\w+)\}/g, ':$1'), operation: get }));

/** @param {string} text */
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const limits = new Map(Object.entries(readJson(orders.keys)));

/**
 * Keys are kept as hashes, as in the service.
 * @param {string | undefined} authorization
 * @returns {number | undefined} requests per minute, undefined where the key is not valid
 */
export const limitOf = (authorization) =>
  authorization?.startsWith('Bearer ') ? limits.get(sha256(authorization.slice(7))) : undefined;

/** Tells the runner where this process listens. @param {number} port */
export const ready = (port) => process.stdout.write(`http://127.0.0.1:${port}\n`);

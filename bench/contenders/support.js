/** What the contenders written for Node share: their orders, the rows of a dataset directory, a check of the key. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {object} Orders
 * @property {string} dataset a dataset directory
 * @property {string} key the one API key that is valid
 * @property {'none' | 'redis'} limiter
 * @property {string} redis where Redis is
 * @property {number} limit requests per minute
 * @property {boolean} everything whether all that the service does is wanted
 */

/** @type {Orders} What the runner wants of this process. */
export const orders = JSON.parse(process.argv[2] ?? '{}');

/** Every contender answers under the service's own path. */
export const BASE = '/api/v1';

/** @param {string} name of a collection @returns {Record<string, unknown>[]} its rows, in key order */
export const readRows = (name) => {
  const manifest = JSON.parse(readFileSync(join(orders.dataset, 'manifest.json'), 'utf8'));
  const text = readFileSync(join(orders.dataset, manifest.collections[name].file), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
};

/** @typedef {{ period_start: unknown, value: unknown }} Observation */

/** The markets in order, the same by code, and each one's history: what a hand-written service would keep. */
export const readMarkets = () => {
  const list = readRows('markets');
  const byCode = new Map(list.map((market) => [market.cbsa, market]));
  /** @type {Map<unknown, Observation[]>} */
  const histories = new Map(list.map(({ cbsa }) => [cbsa, []]));
  for (const { cbsa, period_start, value } of readRows('hpi')) histories.get(cbsa)?.push({ period_start, value });
  return { list, byCode, histories };
};

/** @param {string} text */
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const known = new Set([sha256(orders.key ?? '')]);

/** Keys are kept as hashes, as in the service. @param {string | undefined} authorization */
export const isKeyValid = (authorization) =>
  authorization?.startsWith('Bearer ') && known.has(sha256(authorization.slice(7)));

/** Tells the runner where this process listens. @param {number} port */
export const ready = (port) => process.stdout.write(`http://127.0.0.1:${port}\n`);

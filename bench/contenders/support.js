/** Provides the contenders with options, expected responses and API keys. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * The URL of Redis and the paths of two JSON files. `answers` contains the service's OpenAPI document and responses,
 * and `limits` maps the hash of each key to its limit.
 * @type {{ answers: string, limits: string, redis: string }}
 */
export const options = JSON.parse(process.argv[2] ?? '{}');

export const BASE = '/api/v1';

/** @param {string} path */
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

const answersFile = readJson(options.answers);

export const openapi = answersFile.openapi;

/**
 * The status and body of each response, by path and query. The contenders serialise the body, but do not filter or
 * compute anything, which works in their favour.
 * @type {Map<string, { status: number, body: unknown }>}
 */
export const answers = new Map(Object.entries(answersFile.responses));

/** The data endpoints, with paths such as `/markets/:cbsa/history`. */
export const endpoints = Object.entries(openapi.paths)
  .filter(([, { get }]) => get.security === undefined)
  .map(([path, { get }]) => ({ path: path.replaceAll(/\{(\w+)\}/g, ':$1'), operation: get }));

/** @param {string} text */
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const limits = new Map(Object.entries(readJson(options.limits)));

/**
 * Looks up a key by its hash, as the service does.
 * @param {string | undefined} authorization
 * @returns {number | undefined} the limit in requests per minute, or undefined if the key is invalid
 */
export const limitOf = (authorization) =>
  authorization?.startsWith('Bearer ') ? limits.get(sha256(authorization.slice(7))) : undefined;

/** Prints the URL of the server. @param {number} port */
export const ready = (port) => process.stdout.write(`http://127.0.0.1:${port}\n`);

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * `answers` is a file with the OpenAPI document and responses of the service. `limits` is a file with the limit of each
 * key, by hash.
 * @type {{ answers: string, limits: string, redis: string }}
 */
export const options = JSON.parse(process.argv[2] ?? '{}');

export const BASE = '/api/v1';

/** @param {string} path */
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

const answersFile = readJson(options.answers);

export const openapi = answersFile.openapi;

/**
 * Status and body by path and query. The contenders serialize the bodies but do not filter or compute anything, which
 * makes them faster.
 * @type {Map<string, { status: number, body: unknown }>}
 */
export const answers = new Map(Object.entries(answersFile.responses));

export const endpoints = Object.entries(openapi.paths)
  .filter(([, { get }]) => get.security === undefined)
  .map(([path, { get }]) => ({ path: path.replaceAll(/\{(\w+)\}/g, ':$1'), operation: get }));

/** @param {string} text */
const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const limits = new Map(Object.entries(readJson(options.limits)));

/** @param {string | undefined} authorization @returns {number | undefined} */
export const limitOf = (authorization) =>
  authorization?.startsWith('Bearer ') ? limits.get(sha256(authorization.slice(7))) : undefined;

/** @param {number} port */
export const ready = (port) => process.stdout.write(`http://127.0.0.1:${port}\n`);

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../core/util/package.js';

// biome-ignore lint/suspicious/noExplicitAny: parsed YAML, whose shape the tests check.
export type Parsed = any;

export const at = (path: string): string => join(packageRoot, path);
export const read = (path: string): string => readFileSync(at(path), 'utf8');

export const ADDRESSES = { MONGODB_URI: 'mongodb://127.0.0.1:1/test', REDIS_URL: 'redis://127.0.0.1:1' };

/** Milliseconds that a shutdown can take after the drain. */
export const CLOSING_MS = 2000;

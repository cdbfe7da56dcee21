/** The files that the service ships in, for the tests of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../core/util/package.js';

// biome-ignore lint/suspicious/noExplicitAny: parsed YAML, whose shape is what is tested.
export type Parsed = any;

/** Where a file of the repository is. */
export const at = (path: string): string => join(packageRoot, path);
export const read = (path: string): string => readFileSync(at(path), 'utf8');

/** Addresses at which nothing answers. */
export const ADDRESSES = { MONGODB_URI: 'mongodb://127.0.0.1:1/test', REDIS_URL: 'redis://127.0.0.1:1' };

/** What stopping takes besides the drain, in milliseconds. */
export const CLOSING_MS = 2000;

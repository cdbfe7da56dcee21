/** A document whose field names have a special meaning in some frameworks, such as `created_at` and `deleted`. */
import type { Document } from 'metro-forecast-api/adapter';

// biome-ignore format: similar names share a line
const fields: readonly (readonly [string, unknown])[] = [
  ['created_at', '2024-1-1T00:00+01'], ['createdAt', '2024-1-1'], ['updated_at', 0], ['updatedAt', null], ['time', '1'], ['@timestamp', '0'],
  ['date', '2024-02-30'], ['timestamp', '1'], ['year', '0099'], ['duration', 'PT90M'], ['created', ''],
  ['deleted', true], ['_deleted', true], ['is_deleted', 1], ['deleted_at', '2024-01-01'], ['deletedAt', 1], ['hidden', true], ['active', false],
  ['ttl', 1], ['_ttl', '1'], ['expires', 1], ['expires_at', '2000-01-01T00:00:00Z'], ['expireAt', { $date: 0 }], ['valid_to', '1999-12-31'],
  ['is_open', 'no'], ['has_any', 0], ['flags', '3'], ['count', '01'], ['user_id', '007'], ['price', '1.50'], ['amount', 1.005], ['zip', '01001'],
  ['email', 'A@B.C '], ['url', 'HTTP://A/../b'], ['ip', '010.0.0.1'], ['uuid', '{ABCDEF00}'], ['phone', '+1'], ['locale', 'EN_us'], ['name', ' a '],
  ['json', '{"a": 1.0}'], ['data', '[ 1 ]'], ['meta', '{}'], ['body', ''], ['html', '<b>'], ['tags', 'a,b'], ['payload', null], ['embedding', [0.1, 1]],
  ['location', { lat: '91', lon: 181 }], ['geometry', { type: 'Point', coordinates: [200, -91.123456789012] }], ['geo', 'POINT(1 2)'],
  ['pk', 1], ['sk', 2], ['PK', 3], ['SK', 4], ['_key', 5], ['_source', { a: 1 }], ['_score', 6], ['_index', 7], ['_class', 'x'], ['_type', ''], ['_seq', 8],
  ['doc', { doc: 1 }], ['row', 1], ['rows', []], ['document', {}], ['fields', []], ['hash', 'x'], ['etag', '"x"'], ['rev', '1-x'], ['seq', '0'], ['op', 'd'],
  ['password', 'a'], ['token', 'b'], ['secret', 'c'], ['authorization', 'd'], ['parent', { id: 1 }], ['children', [{ id: 1 }]], ['then', 'x'],
];

export const conventional: Document = { id: 'conventions', ...Object.fromEntries(fields) };

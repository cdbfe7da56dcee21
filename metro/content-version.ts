/** Names a version of a dataset after what it holds. */
import { createHash } from 'node:crypto';
import type { Source } from '../core/contracts/dataset.js';
import type { Rows } from './rows.js';

/**
 * `2025-12-31-1f0c2a9b7d3e`: the vintage says to people what it is, the hash changes with the content, and
 * with nothing else.
 * @param collections every collection; read once each, in the map's order
 */
export const contentVersion = async (
  vintage: string,
  sources: readonly Source[],
  collections: ReadonlyMap<string, () => Rows>,
): Promise<string> => {
  const hash = createHash('sha256').update(JSON.stringify(sources));
  for (const [name, rows] of collections) {
    hash.update(`\n${name}\n`);
    for await (const batch of rows()) hash.update(batch.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }
  return `${vintage}-${hash.digest('hex').slice(0, 12)}`;
};

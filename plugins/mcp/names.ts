/** Names of tools and arguments: unique, and in the form that AI assistants accept. */
import { createHash } from 'node:crypto';

/** Assistants accept at most this many characters of `[A-Za-z0-9_-]`. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/** `listMarkets` becomes `list_markets`. Every capital gets an underscore, so `listXY` and `listXy` stay different. */
export const toolName = (operationId: string): string =>
  operationId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** `price[gte]` becomes `price_gte`. */
export const argumentName = (parameter: string): string =>
  parameter.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^_+|_+$/g, '');

/**
 * Names each id by `derive`. A name that is empty, too long or shared with another id ends in a hash of the id instead,
 * so that names depend on the ids and not on their order.
 * @returns the id of each name
 */
export const uniqueNames = (ids: readonly string[], derive: (id: string) => string): ReadonlyMap<string, string> => {
  const uses = new Map<string, number>();
  for (const id of ids) uses.set(derive(id), (uses.get(derive(id)) ?? 0) + 1);
  const nameOf = (id: string): string => {
    const name = derive(id);
    const isOwn = uses.get(name) === 1 || id === name;
    if (isOwn && name !== '' && name.length <= MAX_LENGTH) return name;
    const hash = createHash('sha256').update(id).digest('hex').slice(0, HASH_LENGTH);
    return `${name.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
  };
  return new Map(ids.map((id) => [nameOf(id), id]));
};

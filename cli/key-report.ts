/** What the `keys` commands show to people. */
import type { KeyAuditEntry } from '../core/contracts/keys.js';
import type { ListedKey, ShownKey } from './key-actions.js';
import { table } from './output.js';

const stateOf = ({ revoked_at, expires_at }: ShownKey, now: number): string => {
  if (revoked_at !== null) return `revoked ${revoked_at}`;
  if (expires_at === null) return 'active';
  return Date.parse(expires_at) <= now ? `expired ${expires_at}` : `active until ${expires_at}`;
};

/** One key a line. */
export const formatKeys = (keys: readonly ListedKey[], now: number): string =>
  table([
    ['ID', 'NAME', 'TIER', 'PER MINUTE', 'CREATED', 'LAST USED', 'STATE'],
    ...keys.map((key) => [
      key.id,
      key.name,
      key.tier,
      key.limit_per_minute === null ? 'default' : String(key.limit_per_minute),
      key.created_at.slice(0, 10),
      key.last_used_at === null ? '-' : `${key.last_used_at.slice(0, 16)}Z`,
      stateOf(key, now),
    ]),
  ]);

const changesOf = ({ action, changes }: KeyAuditEntry): string =>
  Object.entries(changes)
    .map(([field, { from, to }]) => {
      const became = JSON.stringify(to);
      const isNew = action === 'create' || action === 'rotate';
      return isNew ? `${field} ${became}` : `${field} ${JSON.stringify(from)} -> ${became}`;
    })
    .join(', ');

/** One change a line. */
export const formatAudit = (entries: readonly KeyAuditEntry[]): string =>
  table([
    ['TIME', 'KEY', 'ACTION', 'BY', 'CHANGES'],
    ...entries.map((entry) => [entry.time, entry.key, entry.action, entry.by, changesOf(entry)]),
  ]);

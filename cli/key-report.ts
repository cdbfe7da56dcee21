import type { KeyAuditEntry } from '../core/contracts/keys.js';
import type { DayUsage } from '../core/contracts/limiter.js';
import { isActive, type Peppers } from '../core/keys/key.js';
import { usedNow } from '../core/limiter/quotas.js';
import type { KeyUsage, ListedKey, ShownKey } from './key-actions.js';
import { table } from './output.js';

const stateOf = (key: ShownKey, peppers: Peppers, now: number): string => {
  const { revoked_at, expires_at, pepper } = key;
  if (revoked_at !== null) return `revoked ${revoked_at}`;
  if (!isActive(key, now)) return `expired ${expires_at}`;
  if (pepper !== undefined && !peppers.has(pepper)) return `rejected: pepper ${pepper} is missing`;
  return expires_at === null ? 'active' : `active until ${expires_at}`;
};

export const formatKeys = (keys: readonly ListedKey[], peppers: Peppers, now: number): string =>
  table([
    ['ID', 'NAME', 'TIER', 'PER MINUTE', 'CREATED', 'LAST USED', 'STATE'],
    ...keys.map((key) => [
      key.id,
      key.name,
      key.tier,
      key.limit_per_minute === null ? 'default' : String(key.limit_per_minute),
      key.created_at.slice(0, 10),
      key.last_used_at === null ? '-' : `${key.last_used_at.slice(0, 16)}Z`,
      stateOf(key, peppers, now),
    ]),
  ]);

/** Formats one line per key, or per group of keys that share a limit. */
export const formatUsage = (keys: readonly KeyUsage[], now: number): string =>
  table([
    ['ID', 'NAME', 'TIER', 'TODAY', 'THIS MONTH', 'REJECTED TODAY', 'REJECTED THIS MONTH', 'SHARED WITH'],
    ...keys.map(({ id, name, tier, shares_with, data }) => {
      const passed = usedNow(data, now);
      const refused = usedNow(data, now, 'refused');
      const numbers = [passed.day, passed.month, refused.day, refused.month].map(String);
      return [id, name, tier, ...numbers, shares_with.length === 0 ? '-' : shares_with.join(', ')];
    }),
  ]);

export const formatDays = (days: readonly DayUsage[]): string =>
  table([
    ['DATE', 'REQUESTS', 'REJECTED'],
    ...days.map(({ date, requests, refused }) => [date, String(requests), String(refused)]),
  ]);

const changesOf = ({ action, changes }: KeyAuditEntry): string =>
  Object.entries(changes)
    .map(([field, { from, to }]) => {
      const became = JSON.stringify(to);
      const isNew = action === 'create' || action === 'rotate';
      return isNew ? `${field} ${became}` : `${field} ${JSON.stringify(from)} -> ${became}`;
    })
    .join(', ');

export const formatAudit = (entries: readonly KeyAuditEntry[]): string =>
  table([
    ['TIME', 'KEY', 'ACTION', 'BY', 'FROM', 'CHANGES'],
    ...entries.map((entry) => [entry.time, entry.key, entry.action, entry.by, entry.host ?? '-', changesOf(entry)]),
  ]);

import { setTimeout as delay } from 'node:timers/promises';
import type { AuditVerification } from '../core/contracts/audit.js';
import type { KeyAuditEntry, KeyChange, KeyRecord, KeyStore } from '../core/contracts/keys.js';
import type { DayUsage } from '../core/contracts/limiter.js';
import { KeyStoreError, OperatorError } from '../core/errors.js';
import { familyOf, holdsKey, isActive, newKey, type Peppers } from '../core/keys/key.js';
import { nearest } from '../core/validation/nearest.js';
import { parseExpiry } from './expiry.js';
import { COUNT, isCount, UsageError } from './options.js';

export interface NewKey {
  readonly name: string;
  readonly tier?: string | undefined;
  readonly limit?: string | undefined;
  readonly expires?: string | undefined;
}

export type ShownKey = Omit<KeyRecord, 'hash'>;

const shown = ({ hash: _, ...record }: KeyRecord): ShownKey => record;

export interface ListedKey extends ShownKey {
  /** When the key was last used, in UTC (RFC 3339). Can be up to five minutes out of date. Null if unknown. */
  readonly last_used_at: string | null;
}

export const listKeys = async (store: KeyStore): Promise<readonly ListedKey[]> => {
  const records = await store.list();
  const used = await store.lastUsed?.();
  return records.map((record) => {
    const time = used?.get(record.id);
    return { ...shown(record), last_used_at: time === undefined ? null : new Date(time).toISOString() };
  });
};

const parseLimit = (text: string): number => {
  if (!isCount(text)) {
    throw new UsageError(`The limit must be ${COUNT}, in requests per minute, not "${text}".`);
  }
  return Number(text);
};

const checkName = (name: string): string => {
  if (!/^[^\p{C}]{1,100}$/u.test(name) || name.trim() === '') {
    throw new UsageError('--name must be 1 to 100 characters long and contain no control characters.');
  }
  // Names of keys appear in lists and stay in the audit, so they must not contain secrets.
  if (holdsKey(name)) throw new UsageError('--name must not contain a key.');
  return name;
};

const checkTier = (tier: string, tiers: readonly string[]): string => {
  if (tiers.includes(tier)) return tier;
  const near = nearest(tier, tiers);
  throw new UsageError(
    `There is no tier "${tier}"; ${near ? `did you mean "${near}"?` : `auth.tiers allows ${tiers.join(', ')}`}`,
  );
};

export interface KeyRules {
  readonly prefix: string;
  readonly tiers: readonly string[];
  readonly peppers: Peppers;
  /** Maximum time, in milliseconds, until services accept a new key. */
  readonly visibleAfterMs: number;
}

export type CreatedKey = ShownKey & { readonly key: string };

/** Creates a key. Resolves when running services accept the key. */
export const createKeyRecord = async (
  store: KeyStore,
  { name, tier, limit, expires }: NewKey,
  rules: KeyRules,
  now: number,
  onStored: (created: CreatedKey) => void,
): Promise<void> => {
  const terms = {
    name: checkName(name),
    tier: checkTier(tier ?? (rules.tiers[0] as string), rules.tiers),
    limit_per_minute: limit === undefined ? null : parseLimit(limit),
    expires_at: expires === undefined ? null : parseExpiry(expires, now),
  };
  const { key, record } = newKey(terms, now, rules);
  await store.insert(record);
  onStored({ ...(await readBack(store, record.id, record)), key });
  await delay(rules.visibleAfterMs);
};

/** @throws OperatorError if the store does not contain the written values */
const readBack = async (store: KeyStore, id: string, written: KeyChange): Promise<ShownKey> => {
  const record = (await store.list()).find((each) => each.id === id);
  const differs = (Object.keys(written) as (keyof KeyChange)[]).filter((name) => record?.[name] !== written[name]);
  if (record && differs.length === 0) return shown(record);
  const what = record ? `${differs.join(', ')} of ${id}` : id;
  throw new OperatorError(
    `The key store does not have the new value of ${what}: it did not store the change, or another command changed the key at the same time. "keys list" shows the current state.`,
  );
};

const unknownKey = async (store: KeyStore, id: string): Promise<OperatorError> => {
  const records = await store.list();
  const named = records.filter(({ name }) => name === id).map((record) => record.id);
  const near = nearest(
    id,
    records.map((record) => record.id),
  );
  const help =
    named.length > 0
      ? `the name "${id}" belongs to ${named.join(', ')}`
      : near
        ? `did you mean ${near}?`
        : '"keys list" shows the ids';
  // The user might have entered a key instead of an id. Keys must never be printed.
  return new OperatorError(`There is no key with ${id.length > 40 ? 'this id' : `the id ${id}`}; ${help}`);
};

const change = async (store: KeyStore, id: string, changes: KeyChange): Promise<ShownKey> => {
  try {
    await store.update(id, changes);
  } catch (error) {
    throw error instanceof KeyStoreError && error.code === 'unknown_key' ? await unknownKey(store, id) : error;
  }
  return readBack(store, id, changes);
};

export const revokeKey = async (store: KeyStore, id: string, now: number): Promise<ShownKey> => {
  const record = (await store.list()).find((each) => each.id === id);
  // Revoking a key again keeps the original revocation time.
  return record?.revoked_at ? shown(record) : change(store, id, { revoked_at: new Date(now).toISOString() });
};

export const succeeds = (key: ShownKey, before: ShownKey): boolean =>
  key.id !== before.id && key.shares_limit_of === familyOf(before) && key.created_at >= before.created_at;

const interrupted = (id: string, successor: string): string =>
  `${id} has the successor ${successor} but does not expire, because its rotation was interrupted. If you have the key of ${successor}, run "keys revoke ${id}" once no client uses ${id}. Otherwise, run "keys revoke ${successor}", and rotate ${id} again.`;

/**
 * Creates a successor that shares the limit of the key. The old key stays valid until the overlap ends. Resolves when
 * running services accept the successor.
 */
export const rotateKey = async (
  store: KeyStore,
  id: string,
  overlap: string,
  rules: KeyRules,
  now: number,
  onStored: (created: CreatedKey) => void,
  onRotated: (old: ShownKey, created: CreatedKey) => void,
): Promise<void> => {
  const until = parseExpiry(overlap, now, '--overlap');
  const records = await store.list();
  const record = records.find((each) => each.id === id) ?? (await change(store, id, {}));
  if (record.revoked_at !== null) throw new OperatorError(`${id} is revoked. Create a new key with "keys create".`);
  if (record.expires_at !== null && Date.parse(record.expires_at) <= now) {
    throw new OperatorError(`${id} has expired. Create a new key with "keys create".`);
  }
  const shares_limit_of = familyOf(record);
  const successor = records.find((each) => succeeds(each, record) && isActive(each, now));
  if (successor) {
    throw new OperatorError(
      record.expires_at === null
        ? interrupted(id, successor.id)
        : `${id} has already been rotated and expires at ${record.expires_at}. Rotate its successor ${successor.id}, or revoke it first.`,
    );
  }
  const { key, record: successorRecord } = newKey({ ...record, shares_limit_of }, now, rules);
  // The successor is stored first, so an interruption leaves two valid keys rather than none.
  await store.insert(successorRecord);
  const created = { ...(await readBack(store, successorRecord.id, successorRecord)), key };
  onStored(created);
  const ends = record.expires_at !== null && record.expires_at < until ? record.expires_at : until;
  const old = await change(store, id, { expires_at: ends }).catch((cause: Error) => {
    throw new OperatorError(interrupted(id, created.id), [cause.message], { cause });
  });
  onRotated(old, created);
  await delay(rules.visibleAfterMs);
};

/**
 * Changes a setting of a key, and of its predecessors and successors. Otherwise, the owner could use another of these
 * keys with the old limit.
 */
const changeSharing = async (
  store: KeyStore,
  id: string,
  changes: Pick<KeyChange, 'limit_per_minute' | 'tier'>,
  now: number,
): Promise<ShownKey> => {
  const records = await store.list();
  const record = records.find((each) => each.id === id);
  if (record && !isActive(record, now)) {
    const ended = record.revoked_at === null ? `expired at ${record.expires_at}` : 'is revoked';
    throw new OperatorError(`${id} ${ended}. Create a new key with "keys create".`);
  }
  const others = record ? records.filter((each) => each.id !== id && familyOf(each) === familyOf(record)) : [];
  for (const other of others) if (isActive(other, now)) await change(store, other.id, changes);
  return change(store, id, changes);
};

export const limitKey = (store: KeyStore, id: string, limit: string, now: number): Promise<ShownKey> =>
  changeSharing(store, id, { limit_per_minute: limit === 'default' ? null : parseLimit(limit) }, now);

export const moveKey = (
  store: KeyStore,
  id: string,
  tier: string,
  tiers: readonly string[],
  now: number,
): Promise<ShownKey> => changeSharing(store, id, { tier: checkTier(tier, tiers) }, now);

export interface KeyUsage extends Pick<KeyRecord, 'id' | 'name' | 'tier'> {
  /** The ids of the other keys that share the limit. The usage includes their requests. */
  readonly shares_with: readonly string[];
  readonly data: readonly DayUsage[];
}

/**
 * Keys that share a limit also share their usage, so only one of them is listed: the newest active key, or the newest
 * key if none is active.
 */
export const usageOf = async (
  store: KeyStore,
  id: string | undefined,
  usage: (subject: string) => Promise<readonly DayUsage[]>,
  now: number,
): Promise<readonly KeyUsage[]> => {
  const families = new Map<string, KeyRecord[]>();
  for (const record of await store.list()) {
    const family = familyOf(record);
    families.set(family, [...(families.get(family) ?? []), record]);
  }
  const used: KeyUsage[] = [];
  for (const [family, members] of families) {
    const newestFirst = members.toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1));
    const listed =
      id === undefined
        ? (newestFirst.find((each) => isActive(each, now)) ?? newestFirst[0])
        : members.find((each) => each.id === id);
    if (!listed) continue;
    const shares_with = members.filter((each) => each !== listed).map((each) => each.id);
    const { id: own, name, tier } = listed;
    used.push({ id: own, name, tier, shares_with, data: await usage(`key:${family}`) });
  }
  if (id !== undefined && used.length === 0) throw await unknownKey(store, id);
  return used;
};

const NO_AUDIT = 'The key store of this configuration (auth.keys) has no audit log.';

export const verifyAudit = (store: KeyStore, expected: string | undefined): Promise<AuditVerification> => {
  if (!store.verifyAudit) throw new OperatorError(NO_AUDIT);
  return store.verifyAudit(expected);
};

export const auditOf = async (store: KeyStore, id: string | undefined): Promise<readonly KeyAuditEntry[]> => {
  if (!store.audit) throw new OperatorError(NO_AUDIT);
  const entries = await store.audit();
  if (id === undefined) return entries;
  const found = entries.filter(({ key }) => key === id);
  const known = found.length > 0 || (await store.list()).some((record) => record.id === id);
  if (!known) throw await unknownKey(store, id);
  return found;
};

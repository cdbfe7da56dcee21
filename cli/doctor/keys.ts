/** Whether the key store answers, and whether anybody could call with what it holds. */
import { resolve } from '../../app/container.js';
import { type Finding, failure, type Patient } from './finding.js';

const SOON_MS = 14 * 86_400_000;

export const checkKeys = async ({ container, loaded }: Patient): Promise<Finding> => {
  const { keys, tiers } = loaded.config.auth;
  const ok = (message: string): Finding => ({ check: 'keys', state: 'ok', message });
  const warning = (message: string, ...advice: string[]): Finding => ({
    check: 'keys',
    state: 'warning',
    message,
    advice,
  });
  if (keys.use === 'memory') {
    return loaded.embedded
      ? ok('each start makes a demo key and prints it')
      : warning('keys in memory are gone at each end', 'name a key store in auth.keys: "file", or "mongo"');
  }
  const store = resolve(container, 'keyStore');
  try {
    await store.open();
    const now = Date.now();
    const all = await store.list();
    const active = all.filter(
      ({ revoked_at, expires_at }) => revoked_at === null && (expires_at === null || Date.parse(expires_at) > now),
    );
    const usable = active.filter(({ tier }) => tiers.includes(tier));
    if (usable.length === 0) {
      const which =
        active.length > 0 ? `none of ${active.length} active keys is of a tier in auth.tiers` : 'no active key';
      return warning(`${keys.use}: ${which}; every caller would get 401`, 'metro-forecast keys create --name NAME');
    }
    const message = `${keys.use}: ${usable.length} of ${all.length} can be used`;
    const ending = usable.filter(({ expires_at }) => expires_at !== null && Date.parse(expires_at) - now < SOON_MS);
    if (ending.length === 0) return ok(message);
    const soon = ending.map(
      ({ id, name, expires_at }) => `${id} ("${name}") ends at ${expires_at}: make its successor`,
    );
    return warning(message, ...soon);
  } catch (error) {
    return failure('keys', error, ['look at auth.keys of the configuration']);
  } finally {
    await store.close().catch(() => undefined);
  }
};

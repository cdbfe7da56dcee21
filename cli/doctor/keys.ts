/** Checks that the key store responds, and that a caller could get in with one of its keys. */
import { resolve } from '../../app/container.js';
import { tierNames } from '../../core/config/tiers.js';
import { isInForce, missingPeppers, Peppers } from '../../core/keys/key.js';
import { type CheckContext, type Finding, failure } from './finding.js';

const SOON_MS = 14 * 86_400_000;

export const checkKeys = async ({ container, loaded }: CheckContext): Promise<Finding> => {
  const { keys } = loaded.config.auth;
  const tiers = tierNames(loaded.config.auth);
  const peppers = new Peppers(loaded.config.auth.peppers);
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
    const active = all.filter((record) => isInForce(record, now));
    const entitled = active.filter(({ tier }) => tiers.includes(tier));
    const usable = entitled.filter(({ pepper }) => pepper === undefined || peppers.has(pepper));
    const missing = missingPeppers(entitled, peppers, now);
    if (usable.length === 0) {
      const of = `none of ${active.length} active keys`;
      const which =
        entitled.length > 0
          ? `${of} can be used`
          : active.length > 0
            ? `${of} is of a tier in auth.tiers`
            : 'no active key';
      const advice = missing.length > 0 ? missing : ['metro-forecast keys create --name NAME'];
      return warning(`${keys.use}: ${which}; every caller would get 401`, ...advice);
    }
    const message = `${keys.use}: ${usable.length} of ${all.length} can be used`;
    const ending = usable.filter(({ expires_at }) => expires_at !== null && Date.parse(expires_at) - now < SOON_MS);
    if (ending.length === 0 && missing.length === 0) return ok(message);
    const soon = ending.map(
      ({ id, name, expires_at }) => `${id} ("${name}") ends at ${expires_at}: make its successor`,
    );
    return warning(message, ...missing, ...soon);
  } catch (error) {
    return failure('keys', error, ['look at auth.keys of the configuration']);
  } finally {
    await store.close().catch(() => undefined);
  }
};

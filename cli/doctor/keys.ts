import { resolve } from '../../core/app/container.js';
import { tierNames } from '../../core/config/tiers.js';
import type { KeyStore } from '../../core/contracts/keys.js';
import { isActive, missingPeppers, Peppers } from '../../core/keys/key.js';
import { succeeds } from '../key-actions.js';
import { type CheckContext, type Finding, failure, ok, warning } from './finding.js';

const SOON_MS = 14 * 86_400_000;

const otherCallers = ({ loaded, modules }: CheckContext): string => {
  const { anonymous } = loaded.config.auth;
  if (anonymous !== null) return `callers without a key have the tier "${anonymous}"`;
  return modules.registry.plugins.some(({ plugin }) => plugin.identity) ? 'plugins also identify callers' : '';
};

export const checkKeys = async (context: CheckContext): Promise<Finding> => {
  const { container, loaded, command } = context;
  const { keys } = loaded.config.auth;
  const tiers = tierNames(loaded.config.auth);
  const peppers = new Peppers(loaded.config.auth.peppers);
  const withoutKey = otherCallers(context);
  if (keys.use === 'memory') {
    if (withoutKey) return ok('keys', `no keys are stored; ${withoutKey}`);
    return loaded.embedded
      ? ok('keys', 'each start prints a new demo key')
      : warning('keys', 'keys in memory are lost at every restart', 'Set auth.keys to "file" or "mongo".');
  }
  let store: KeyStore | undefined;
  try {
    store = resolve(container, 'keyStore');
    await store.open();
    const now = Date.now();
    const all = await store.list();
    // Writes back the times at which keys were last used, to check that the service can write them.
    if (keys.use === 'mongo') await store.noteUse?.((await store.lastUsed?.()) ?? new Map());
    const active = all.filter((record) => isActive(record, now));
    const entitled = active.filter(({ tier }) => tiers.includes(tier));
    const usable = entitled.filter(({ pepper }) => pepper === undefined || peppers.has(pepper));
    const missing = missingPeppers(entitled, peppers, now);
    if (usable.length === 0) {
      if (withoutKey && active.length === 0) return ok('keys', `${keys.use}: no active key; ${withoutKey}`);
      const of = `none of ${active.length} active keys`;
      const which =
        entitled.length > 0
          ? `${of} can be used`
          : active.length > 0
            ? `${of} has a tier in auth.tiers`
            : 'no active key';
      const advice = missing.length > 0 ? missing : [command('keys', 'create', '--name', 'NAME')];
      const whom = withoutKey ? `every caller with a key gets 401; ${withoutKey}` : 'every caller gets 401';
      return warning('keys', `${keys.use}: ${which}; ${whom}`, ...advice);
    }
    const message = `${keys.use}: ${usable.length} of ${all.length} keys can be used`;
    // Rotated keys are expected to expire, so only their successors are checked.
    const last = usable.filter((key) => !usable.some((other) => succeeds(other, key)));
    const ending = last.filter(({ expires_at }) => expires_at !== null && Date.parse(expires_at) - now < SOON_MS);
    if (ending.length === 0 && missing.length === 0) return ok('keys', message);
    // `keys rotate` is not suggested, because its new key would expire at the same time.
    const soon = ending.map(({ id, name, tier, expires_at }) => {
      const create = command('keys', 'create', '--name', name, '--tier', tier);
      return `${id} ("${name}") expires at ${expires_at}. To create a new key for its owner: ${create}`;
    });
    return warning('keys', message, ...missing, ...soon);
  } catch (error) {
    return failure('keys', error, ['Check auth.keys in the configuration.']);
  } finally {
    await store?.close().catch(() => undefined);
  }
};

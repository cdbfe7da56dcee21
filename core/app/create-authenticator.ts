/** Creates the authenticator, and warns about unusable keys. */
import type { AuthConfig } from '../config/schema.js';
import { tierNames } from '../config/tiers.js';
import type { KeyStore } from '../contracts/keys.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import { Authenticator, keyUse } from '../keys/authenticator.js';
import { isActive, missingPeppers, Peppers } from '../keys/key.js';

interface AuthenticatorDependencies {
  readonly auth: AuthConfig;
  readonly keyStore: KeyStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OpenAuthenticator {
  readonly authenticator: Authenticator;
  /** Warns if no key is active or a pepper is missing. Reads the keys, so the store must be open. */
  open(): Promise<void>;
  /** Writes when keys were last used. Must be called before the store is closed. */
  close(): Promise<void>;
}

export const createAuthenticator = ({
  auth,
  keyStore,
  clock,
  logger,
}: AuthenticatorDependencies): OpenAuthenticator => {
  const peppers = new Peppers(auth.peppers);
  const report = keyReporter({ auth, keyStore, clock, logger }, peppers);
  keyStore.onChange(() => void report());
  const use = keyStore.noteUse && keyUse({ write: keyStore.noteUse.bind(keyStore), logger });
  const authenticator = new Authenticator(keyStore, {
    tiers: tierNames(auth),
    clock,
    peppers,
    ...(use && { useOf: use.of }),
  });
  return { authenticator, open: report, close: async () => use?.close() };
};

/**
 * Warns once, after the first successful read of the keys, about mistakes that cause 401 responses: no key is active
 * although endpoints need one, or a key needs a pepper that is not configured.
 */
const keyReporter = (
  { auth, keyStore, clock, logger }: AuthenticatorDependencies,
  peppers: Peppers,
): (() => Promise<void>) => {
  let isDue = true;
  return async () => {
    if (!isDue) return;
    isDue = false;
    try {
      const records = await keyStore.list();
      if (auth.anonymous === null && !records.some((record) => isActive(record, clock.now()))) {
        logger.warn('no key is active: endpoints that need one respond with 401; create one with "keys create"');
      }
      for (const sentence of missingPeppers(records, peppers, clock.now())) logger.warn(sentence);
    } catch {
      // The keys could not be read. The next change of the store calls this function again.
      isDue = true;
    }
  };
};

/** Puts together what knows callers by their keys, from the configuration. */
import type { AuthConfig } from '../core/config/schema.js';
import type { KeyStore } from '../core/contracts/keys.js';
import type { Clock, Logger } from '../core/contracts/runtime.js';
import { KeyRing } from '../core/keys/key-ring.js';
import { KeyUse } from '../core/keys/key-use.js';
import { missingPeppers, Peppers } from '../core/keys/peppers.js';

export interface KeyRingParts {
  readonly auth: AuthConfig;
  readonly keyStore: KeyStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OpenKeyRing {
  readonly ring: KeyRing;
  /** To be awaited before the store is closed. */
  close(): Promise<void>;
}

export const createKeyRing = ({ auth, keyStore, clock, logger }: KeyRingParts): OpenKeyRing => {
  const peppers = new Peppers(auth.peppers);
  reportMissing(keyStore, peppers, clock, logger);
  const use = keyStore.noteUse && new KeyUse({ write: keyStore.noteUse.bind(keyStore), logger });
  const ring = new KeyRing(keyStore, {
    tiers: auth.tiers,
    clock,
    peppers,
    ...(use && { onUse: (id, time) => use.note(id, time) }),
  });
  return { ring, close: async () => use?.close() };
};

/** Once, when the keys have been read: at the start, or as soon as their store can be reached. */
const reportMissing = (keyStore: KeyStore, peppers: Peppers, clock: Clock, logger: Logger): void => {
  let due = true;
  const report = async (): Promise<void> => {
    if (!due) return;
    due = false;
    try {
      const records = await keyStore.list();
      for (const sentence of missingPeppers(records, peppers, clock.now())) logger.warn(sentence);
    } catch {
      // It has gone again: the next change tells that it is back.
      due = true;
    }
  };
  keyStore.onChange(() => void report());
};

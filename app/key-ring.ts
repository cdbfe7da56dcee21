/** Puts together what knows callers by their keys, from the configuration. */
import type { AuthConfig } from '../core/config/schema.js';
import type { KeyStore } from '../core/contracts/keys.js';
import type { Clock, Logger } from '../core/contracts/runtime.js';
import { KeyRing } from '../core/keys/key-ring.js';
import { KeyUse } from '../core/keys/key-use.js';

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
  const use = keyStore.noteUse && new KeyUse({ write: keyStore.noteUse.bind(keyStore), logger });
  const ring = new KeyRing(keyStore, {
    tiers: auth.tiers,
    clock,
    ...(use && { onUse: (id, time) => use.note(id, time) }),
  });
  return { ring, close: async () => use?.close() };
};

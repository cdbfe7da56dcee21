import type { LoadedConfig } from '../config/load.js';
import type { Config } from '../config/schema.js';
import { maskSecrets } from '../config/secrets.js';
import type { Modules } from './load-modules.js';

export const maskedConfig = ({ config }: LoadedConfig, { adapter, keyStore, registry }: Modules): Config =>
  maskSecrets(config, {
    adapter: adapter.options,
    keys: keyStore.options,
    plugins: registry.plugins.map(({ options }) => options),
  });

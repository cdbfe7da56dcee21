import type { JsonSchema } from '../contracts/json-schema.js';
import { maskBySchema } from '../validation/secrets.js';
import { type Config, configSchema, type ModuleConfig } from './schema.js';

interface OptionSchemas {
  readonly adapter?: JsonSchema | undefined;
  readonly keys?: JsonSchema | undefined;
  readonly plugins?: readonly (JsonSchema | undefined)[];
}

const maskModule = (part: ModuleConfig, schema: JsonSchema | undefined): ModuleConfig => ({
  use: part.use,
  options: maskBySchema(part.options, schema) as ModuleConfig['options'],
});

/** Masks the secrets of a configuration. Without a schema, secret options are recognised by their names. */
export const maskSecrets = (config: Config, schemas: OptionSchemas = {}): Config => {
  const masked = maskBySchema(config, configSchema) as Config;
  return {
    ...masked,
    adapter: maskModule(config.adapter, schemas.adapter),
    plugins: config.plugins.map((plugin, i) => maskModule(plugin, schemas.plugins?.[i])),
    auth: { ...masked.auth, keys: maskModule(config.auth.keys, schemas.keys) },
  };
};

/** Keeps secrets out of a configuration that is shown. */
import type { JsonSchema } from '../contracts/json-schema.js';
import { maskBySchema } from '../validation/secrets.js';
import { type Config, configSchema, type ModuleConfig } from './schema.js';

/** The schemas that the modules of a configuration declare of their options. */
interface OptionSchemas {
  readonly adapter?: JsonSchema | undefined;
  readonly keys?: JsonSchema | undefined;
  /** In the configuration's order. */
  readonly plugins?: readonly (JsonSchema | undefined)[];
}

const maskModule = (part: ModuleConfig, schema: JsonSchema | undefined): ModuleConfig => ({
  use: part.use,
  options: maskBySchema(part.options, schema) as ModuleConfig['options'],
});

/**
 * A copy that may be shown. Options whose schema is not given are masked by their names.
 * @param schemas the modules' own schemas, for the secrets that they declare
 */
export const maskSecrets = (config: Config, schemas: OptionSchemas = {}): Config => {
  const masked = maskBySchema(config, configSchema) as Config;
  return {
    ...masked,
    adapter: maskModule(config.adapter, schemas.adapter),
    plugins: config.plugins.map((plugin, i) => maskModule(plugin, schemas.plugins?.[i])),
    auth: { ...masked.auth, keys: maskModule(config.auth.keys, schemas.keys) },
  };
};

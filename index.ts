/**
 * The entry point for programs that embed the service. Plugins import from `./plugin`. Adapters and key stores import
 * from `./adapter`.
 */
export type { App, AppOverrides, Overrides } from './core/app/app-types.js';
export type { LoadedConfig } from './core/config/load.js';
export type { Config, GivenConfig, GivenModule } from './core/config/schema.js';
export { OperatorError } from './core/errors.js';
/** The collections and document types of Metro Forecast, for plugins that read them. */
export * as metro from './plugins/metro/collections.js';
export { createApp, loadConfig } from './product.js';

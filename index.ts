/** The package as a library: embed the service, or write a plugin, an adapter or a key store for it. */
export { type Overrides, resolve, tokens } from './app/container.js';
export { type App, type AppOverrides, createApp } from './app/create-app.js';
export { loadConfig } from './app/load-config.js';
export type { Services } from './app/services.js';
export type { LoadedConfig } from './core/config/load.js';
export type { Config } from './core/config/schema.js';
export type { Cached, SharedCache } from './core/contracts/cache.js';
export type { Cadence, Collection, Document, Manifest, Source } from './core/contracts/dataset.js';
export type { JsonSchema } from './core/contracts/json-schema.js';
export type {
  KeyAuditEntry,
  KeyChange,
  KeyRecord,
  KeyStore,
  KeyStoreContext,
  KeyStoreModule,
} from './core/contracts/keys.js';
export type { Decision, Limiter } from './core/contracts/limiter.js';
export type {
  FinishedRequest,
  ObserverContext,
  RequestObserver,
  TraceParent,
} from './core/contracts/observer.js';
export {
  type ComponentState,
  collection,
  type DataRoute,
  dataRoute,
  definePlugin,
  type Mount,
  type MountContext,
  type Parameter,
  type Plugin,
  type PluginContext,
  type Route,
  type ServiceRoute,
  type ServiceState,
  type SnapshotReader,
  type StatusComponent,
  type StreamedList,
  serviceRoute,
} from './core/contracts/plugin.js';
export { type Clock, type Health, type Logger, systemClock } from './core/contracts/runtime.js';
export type { ServiceInfo } from './core/contracts/service.js';
export type {
  AdapterContext,
  AdapterModule,
  Capabilities,
  Dataset,
  PublishOptions,
  Query,
  Scalar,
  Snapshot,
  StorageAdapter,
  Versions,
} from './core/contracts/storage.js';
export {
  ApiError,
  defineError,
  type ErrorDetail,
  type ErrorKind,
  errors,
  KeyStoreError,
  LimiterUnavailable,
  OperatorError,
  StorageError,
  type StorageErrorCode,
} from './core/errors.js';
export { compareBy, compareScalars } from './core/storage/compare.js';
export { frozenCopy } from './core/storage/frozen-copy.js';
export { IndexedCollection } from './core/storage/indexed-collection.js';
export { indexedSnapshot } from './core/storage/indexed-snapshot.js';
export { publicationTime } from './core/storage/publication-time.js';
/** The collections of Metro Forecast and their document types, for plugins that read them. */
export * as metro from './metro/collections.js';

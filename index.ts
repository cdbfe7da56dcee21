/** The package as a library: embed the service, or write a plugin, an adapter or a key store for it. */
export { type Overrides, resolve, tokens } from './core/app/container.js';
export type { App, AppOverrides } from './core/app/create-app.js';
export type { Services } from './core/app/services.js';
export type { LoadedConfig } from './core/config/load.js';
export type { Config, GivenConfig, GivenModule } from './core/config/schema.js';
export type { AuditEntry, AuditVerification, DataAudit, DataAuditEntry } from './core/contracts/audit.js';
export type { Cached, SharedCache } from './core/contracts/cache.js';
export type { Cadence, Collection, Document, Manifest, Source } from './core/contracts/dataset.js';
export type { FromSchema, JsonSchema } from './core/contracts/json-schema.js';
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
  type DataContext,
  type DataRoute,
  dataRoute,
  definePlugin,
  type KeyHolder,
  type Mount,
  type MountContext,
  type Parameter,
  type Plugin,
  type PluginContext,
  type PublishedVersion,
  type QueryOf,
  type Route,
  type ServiceRequest,
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
export { contentOf, dataAuditEntry, withPublished } from './core/data/data-audit.js';
export { IndexedCollection } from './core/data/indexed-collection.js';
export { indexedSnapshot } from './core/data/indexed-snapshot.js';
export { frozenCopy, publicationTime } from './core/data/publishing.js';
export { compareBy, compareScalars } from './core/data/scalars.js';
export {
  ApiError,
  defineError,
  type ErrorDetail,
  type ErrorKind,
  errors,
  invalidParameter,
  KeyStoreError,
  LimiterUnavailable,
  OperatorError,
  StorageError,
  type StorageErrorCode,
} from './core/errors.js';
export { chain, verifyChain } from './core/keys/chain.js';
export { callerOf } from './core/pipeline/request-state.js';
export { findPage, type PageInput, pageHeaders, pageOf, pageParameters, rowOrder } from './core/routes/pagination.js';
/** The collections of Metro Forecast and their document types, for plugins that read them. */
export * as metro from './plugins/metro/collections.js';
export { createApp, loadConfig } from './product.js';

/** The types of the parts of an application, and how a part is defined. */
import { EventEmitter } from 'node:events';
import type { LoadedConfig } from '../config/load.js';
import type { SharedCache } from '../contracts/cache.js';
import type { KeyStore } from '../contracts/keys.js';
import type { Limiter } from '../contracts/limiter.js';
import type { Clock, Logger } from '../contracts/runtime.js';
import type { StorageAdapter } from '../contracts/storage.js';
import type { Handle } from '../edge/accept.js';
import type { Admission } from '../edge/admission.js';
import type { HttpServer } from '../edge/server.js';
import type { OpenAuthenticator } from '../keys/authenticator.js';
import type { IdentityChain } from '../keys/identity-chain.js';
import type { Metrics } from '../observe/metrics.js';
import type { RequestObservers } from '../observe/request-observers.js';
import type { ApiKoa } from '../pipeline/api-koa.js';
import type { RedisConnection } from '../redis/connection.js';
import type { CommonHeaders } from '../response/headers.js';
import type { LocalContext } from '../routes/handle-mount.js';
import type { RouteTable } from '../routes/route-table.js';
import type { CurrentSnapshot } from '../routes/served-snapshot.js';
import type { Vintages } from '../routes/vintages.js';
import type { WorkQueues } from '../routes/work-queue.js';
import type { Modules } from './load-modules.js';
import type { RunningPlugins } from './running-plugins.js';
import type { RunningSettings } from './running-settings.js';
import type { RunningState } from './running-state.js';

/** The events with which the adapter informs other parts. */
export class StorageEvents extends EventEmitter<{
  changed: [];
  problem: [sentence: string | undefined];
  timed: [ms: number];
}> {}

/** All parts by name. A part is null if the configuration disables it. */
export interface Parts {
  readonly config: LoadedConfig;
  /** The adapter, the key store, and the plugins with their routes. */
  readonly modules: Modules;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The settings that can change while the service is running. */
  readonly settings: RunningSettings;
  readonly storageEvents: StorageEvents;
  readonly adapter: StorageAdapter;
  readonly keyStore: KeyStore;
  readonly redis: RedisConnection | null;
  readonly limiter: Limiter;
  /** The cache for responses that all replicas share, such as `/status`. */
  readonly cache: SharedCache;
  /** The current snapshot and its cached representations. */
  readonly snapshots: CurrentSnapshot;
  /** Earlier snapshots, for requests with `as_of`. */
  readonly vintages: Vintages;
  /** Identifies the caller of a request. */
  readonly authenticator: OpenAuthenticator;
  /** Identifies callers by the credentials that plugins accept. Null if no plugin does. */
  readonly identities: IdentityChain | null;
  /** The state that the service's own routes read. */
  readonly state: RunningState;
  /** Rejects requests that exceed the capacity of the service. */
  readonly admission: Admission | null;
  readonly metrics: Metrics | null;
  /** The plugins that observe requests. */
  readonly observers: RequestObservers | null;
  readonly headers: CommonHeaders;
  /** Runs uncached requests, taking turns between callers. */
  readonly work: WorkQueues;
  readonly routes: RouteTable;
  /** The Koa application with all middleware. */
  readonly koa: ApiKoa;
  /** The plugins that are opened and closed with the service, or that report errors. */
  readonly runningPlugins: RunningPlugins;
  /** The request listener, which runs admission control and then Koa. */
  readonly handle: Handle;
  readonly server: HttpServer;
  /** Lets this process send requests to its own service. */
  readonly local: LocalContext;
}

export type PartName = keyof Parts;

export interface Definition<Value> {
  readonly needs: readonly PartName[];
  make(dependencies: Parts): Value;
  open?(value: NonNullable<Value>): Promise<unknown>;
  close?(value: NonNullable<Value>): unknown;
}

/** @param needs the names of the parts that are passed to `make` */
export const part = <const Needs extends readonly PartName[], Value>(
  needs: Needs,
  make: (dependencies: Pick<Parts, Needs[number]>) => Value,
  lifecycle: Pick<Definition<NoInfer<Value>>, 'open' | 'close'> = {},
): Definition<Value> => ({ needs, make, ...lifecycle }) as Definition<Value>;

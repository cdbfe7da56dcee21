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
import type { CurrentSnapshot } from '../routes/current-snapshot.js';
import type { LocalContext } from '../routes/handle-mount.js';
import type { RouteTable } from '../routes/route-table.js';
import type { Vintages } from '../routes/vintages.js';
import type { WorkQueues } from '../routes/work-queue.js';
import type { Modules } from './load-modules.js';
import type { RunningPlugins } from './running-plugins.js';
import type { RunningSettings } from './running-settings.js';
import type { RunningState } from './running-state.js';

export class StorageEvents extends EventEmitter<{
  changed: [];
  problem: [sentence: string | undefined];
  timed: [ms: number];
}> {}

/** The parts of an application. Parts that the configuration disables are null. */
export interface Parts {
  readonly config: LoadedConfig;
  readonly modules: Modules;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: RunningSettings;
  readonly storageEvents: StorageEvents;
  readonly adapter: StorageAdapter;
  readonly keyStore: KeyStore;
  readonly redis: RedisConnection | null;
  readonly limiter: Limiter;
  readonly cache: SharedCache;
  readonly snapshots: CurrentSnapshot;
  readonly vintages: Vintages;
  readonly authenticator: OpenAuthenticator;
  /** Checks the credentials that plugins accept. Null if no plugin identifies callers. */
  readonly identities: IdentityChain | null;
  readonly state: RunningState;
  /** Rejects requests while the service is overloaded. Null if `server.overload` is null. */
  readonly admission: Admission | null;
  readonly metrics: Metrics | null;
  readonly observers: RequestObservers | null;
  readonly headers: CommonHeaders;
  /** Queues for requests that miss the response cache. */
  readonly work: WorkQueues;
  readonly routes: RouteTable;
  readonly koa: ApiKoa;
  readonly runningPlugins: RunningPlugins;
  readonly handle: Handle;
  readonly server: HttpServer;
  readonly local: LocalContext;
}

export type PartName = keyof Parts;

export interface Definition<Value> {
  readonly needs: readonly PartName[];
  make(dependencies: Parts): Value;
  open?(value: NonNullable<Value>): Promise<unknown>;
  close?(value: NonNullable<Value>): unknown;
}

export const part = <const Needs extends readonly PartName[], Value>(
  needs: Needs,
  make: (dependencies: Pick<Parts, Needs[number]>) => Value,
  lifecycle: Pick<Definition<NoInfer<Value>>, 'open' | 'close'> = {},
): Definition<Value> => ({ needs, make, ...lifecycle }) as Definition<Value>;

/** The state of a running service, and the components that `/status` shows. */
import type { DayUsage } from './limiter.js';
import type { Health } from './runtime.js';
import type { PublishedVersion, SnapshotReader } from './snapshot-reader.js';

/** The state of the running service. */
export interface ServiceState {
  readonly now: Date;
  readonly startedAt: Date;
  readonly draining: boolean;
  /** The most recently known health of each part of the service. */
  readonly health: Readonly<Record<'storage' | 'limiter' | 'cache' | 'keys', Health>>;
  /** The current snapshot. Undefined if there is none. */
  readonly snapshot: SnapshotReader | undefined;
  /**
   * Resolves with the versions in the store, newest first. A store without the capability `versions` has only the
   * current one. Rejects with a `StorageError`.
   */
  versions(): Promise<readonly PublishedVersion[]>;
  /**
   * Resolves with the number of requests that a caller made on each day.
   * @param caller the id of the caller's account
   */
  usage(caller: string): Promise<readonly DayUsage[]>;
  /** Rejects with a `StorageError` if storage cannot be read. */
  pingStorage(): Promise<void>;
}

export interface ComponentState {
  readonly status: 'operational' | 'unknown' | 'degraded' | 'outage';
  /** This message is shown to callers, so it must contain no host names and no error messages of dependencies. */
  readonly message: string | null;
  /** RFC 3339; null if unknown. */
  readonly updated_at: string | null;
}

/** The components that the framework itself adds to `/status`. */
export const OWN_COMPONENTS = ['api', 'storage'] as const;
type OwnComponent = (typeof OWN_COMPONENTS)[number];

/** A part of the platform that `/status` reports on. */
export interface StatusComponent {
  readonly id: string;
  /** The component of the framework that this one replaces. */
  readonly replaces?: OwnComponent;
  /** Default: the check of the replaced component. */
  check?(state: ServiceState): ComponentState | Promise<ComponentState>;
}

/** The state of a running service, and the components of `/status`. */
import type { DayUsage } from './limiter.js';
import type { Health } from './runtime.js';
import type { PublishedVersion, SnapshotReader } from './snapshot-reader.js';

/** The state of the running service. */
export interface ServiceState {
  readonly now: Date;
  readonly startedAt: Date;
  readonly draining: boolean;
  /** The last known health of each part of the service. */
  readonly health: Readonly<Record<'storage' | 'limiter' | 'cache' | 'keys', Health>>;
  /** The current snapshot, or undefined while there is none. */
  readonly snapshot: SnapshotReader | undefined;
  /**
   * The versions in the store, newest first. A store without the capability `versions` has the current one only.
   * Rejects with a `StorageError`.
   */
  versions(): Promise<readonly PublishedVersion[]>;
  /**
   * The requests of a caller, by day.
   * @param caller the id of the caller's account
   */
  usage(caller: string): Promise<readonly DayUsage[]>;
  /** Rejects with a `StorageError` while storage cannot be read. */
  pingStorage(): Promise<void>;
}

export interface ComponentState {
  readonly status: 'operational' | 'unknown' | 'degraded' | 'outage';
  /** Shown to callers: it must not contain host names or error messages of dependencies. */
  readonly message: string | null;
  /** RFC 3339; null if unknown. */
  readonly updated_at: string | null;
}

/** The framework's own components of `/status`. */
export const OWN_COMPONENTS = ['api', 'storage'] as const;
type OwnComponent = (typeof OWN_COMPONENTS)[number];

/** A part of the platform that `/status` reports on. */
export interface StatusComponent {
  readonly id: string;
  /** The framework's component that this one replaces. */
  readonly replaces?: OwnComponent;
  /** Default: the check of the replaced component. */
  check?(state: ServiceState): ComponentState | Promise<ComponentState>;
}

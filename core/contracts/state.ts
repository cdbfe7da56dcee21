import type { DayUsage } from './limiter.js';
import type { Health } from './runtime.js';
import type { PublishedVersion, SnapshotReader } from './snapshot-reader.js';

export interface ServiceState {
  readonly now: Date;
  readonly startedAt: Date;
  readonly draining: boolean;
  /** The last known health of each part of the service. */
  readonly health: Readonly<Record<'storage' | 'limiter' | 'cache' | 'keys', Health>>;
  /** The current snapshot, or undefined if nothing has been published. */
  readonly snapshot: SnapshotReader | undefined;
  /**
   * Resolves with the versions in the store, newest first. A store without the capability `versions` has only the
   * current version. Rejects with a `StorageError`.
   */
  versions(): Promise<readonly PublishedVersion[]>;
  /**
   * Resolves with the usage of a caller per day.
   * @param caller `CallerAccount.id`
   */
  usage(caller: string): Promise<readonly DayUsage[]>;
  /** Rejects with a `StorageError` if the store cannot be read. */
  pingStorage(): Promise<void>;
}

export interface ComponentState {
  readonly status: 'operational' | 'unknown' | 'degraded' | 'outage';
  /** A message that callers see on `/status`. It must not contain host names or error messages of dependencies. */
  readonly message: string | null;
  /** When the component was last updated, as RFC 3339. Null if unknown. */
  readonly updated_at: string | null;
}

export const OWN_COMPONENTS = ['api', 'storage'] as const;
type OwnComponent = (typeof OWN_COMPONENTS)[number];

export interface StatusComponent {
  readonly id: string;
  readonly replaces?: OwnComponent;
  /**
   * Checks the state of the component. After 5 seconds, the state counts as unknown. Default: the check of the component
   * that is named in `replaces`.
   */
  check?(state: ServiceState): ComponentState | Promise<ComponentState>;
}

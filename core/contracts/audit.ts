export interface AuditEntry {
  /** The time of the change as RFC 3339 in UTC, from the clock of the process that made the change. */
  readonly time: string;
  readonly by: string;
  /**
   * The machine on which the change was made. For a user who logged in over SSH, also the address of the client
   * machine.
   */
  readonly host?: string;
  /** The hash of the previous audit entry, or null for the first entry. The store sets `previous` and `hash`. */
  readonly previous?: string | null;
  /** The SHA-256 of all other fields of the entry, in hexadecimal. The fields are hashed as JSON with sorted names. */
  readonly hash?: string;
  /**
   * The hash of an earlier entry whose change was never made, for example because the process crashed after it wrote
   * the entry.
   */
  readonly undoes?: string;
}

export interface AuditVerification {
  readonly chained: number;
  /** The hash of the newest audit entry, or null if the audit log is empty. */
  readonly head: string | null;
  /** Harmless findings, such as a line truncated by a crash or a file edited by hand. */
  readonly notes: readonly string[];
  /** Problems with the audit log, such as missing or modified entries, or data that does not match the entries. */
  readonly faults: readonly string[];
}

export interface DataAuditEntry extends AuditEntry {
  readonly action: 'publish' | 'activate' | 'prune';
  readonly version: string;
  /** The version that was current before this change, or null if there was none. Only for `publish` and `activate`. */
  readonly replaces?: string | null;
  /** The SHA-256 of all published rows, in hexadecimal. Only for `publish`, and only if the store computes the hash. */
  readonly content?: string;
}

export interface DataAudit {
  /**
   * Resolves with the audit entries of all publications, activations and deletions, oldest first. Each entry is written
   * before its change, so no change is missing. After a crash, the last entry can describe a change that was never
   * made.
   */
  list(): Promise<readonly DataAuditEntry[]>;
  /**
   * Checks that no audit entry is missing or modified, and that the entries match the stored data.
   * @param expected the hash of an entry that must be present
   */
  verify(expected?: string): Promise<AuditVerification>;
}

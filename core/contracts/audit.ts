/** The fields of all audit entries: who made a change, when, from where, and the chain of hashes. */

export interface AuditEntry {
  /** RFC 3339, UTC, by the clock of the process that made the change. */
  readonly time: string;
  /** The user name of the process that made the change. */
  readonly by: string;
  /** The machine on which it ran, and the address from which its user had logged in. */
  readonly host?: string;
  /** The hash of the previous entry; null for the first one. Set when the entry is stored, as is `hash`. */
  readonly previous?: string | null;
  /** SHA-256, in hex, of all other fields as JSON with sorted names. */
  readonly hash?: string;
  /** The hash of an earlier entry whose change was not made: another change came first, or the process was stopped. */
  readonly undoes?: string;
}

export interface AuditVerification {
  /** Number of entries. */
  readonly chained: number;
  /** The hash of the newest entry; null if there is none. */
  readonly head: string | null;
  /** Observations that are not errors: a line that a crash cut off, a stored file that was edited. */
  readonly notes: readonly string[];
  /** Entries that are missing or changed, and data that does not agree with the entries. */
  readonly faults: readonly string[];
}

/** An audit entry for a change of published data. */
export interface DataAuditEntry extends AuditEntry {
  /** `prune` deletes a version. */
  readonly action: 'publish' | 'activate' | 'prune';
  readonly version: string;
  /** The previous current version; null if there was none. Absent for `prune`, which does not change it. */
  readonly replaces?: string | null;
  /** For `publish`: SHA-256, in hex, of the rows of all collections, if the store records it. */
  readonly content?: string;
}

/** The audit of a storage adapter. */
export interface DataAudit {
  /**
   * Publications, activations and deletions that were made, oldest first. An entry is written before its change, so
   * that every change has one. If the store fails in between, the entry describes a change that was not made.
   */
  list(): Promise<readonly DataAuditEntry[]>;
  /**
   * Checks that the audit is complete and unchanged, and agrees with the stored data.
   * @param expected the hash of an entry that must be present
   */
  verify(expected?: string): Promise<AuditVerification>;
}

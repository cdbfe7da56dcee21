/** The fields that all audit entries have: who made a change, when and where, and the hashes that chain the entries. */

export interface AuditEntry {
  /** RFC 3339, in UTC, according to the clock of the process that made the change. */
  readonly time: string;
  /** The name of the operating system user that ran the process. */
  readonly by: string;
  /** The machine on which the process ran, and the address from which its user had logged in. */
  readonly host?: string;
  /**
   * The hash of the previous entry; null for the first one. The store sets this and `hash` when it writes the entry.
   */
  readonly previous?: string | null;
  /** SHA-256, in hex, of all other fields, serialized as JSON with sorted property names. */
  readonly hash?: string;
  /**
   * The hash of an earlier entry whose change was never made: another change came first, or the process was stopped.
   */
  readonly undoes?: string;
}

export interface AuditVerification {
  /** The number of entries. */
  readonly chained: number;
  /** The hash of the newest entry; null if there is none. */
  readonly head: string | null;
  /** Observations that are not errors, such as a line that a crash cut off or a stored file that was edited. */
  readonly notes: readonly string[];
  /** Errors: entries that are missing or were changed, and data that does not match the entries. */
  readonly faults: readonly string[];
}

/** An audit entry for a change to the published data. */
export interface DataAuditEntry extends AuditEntry {
  /** `prune` deletes a version. */
  readonly action: 'publish' | 'activate' | 'prune';
  readonly version: string;
  /** The version that was current before; null if there was none. Absent for `prune`, which does not change it. */
  readonly replaces?: string | null;
  /** For `publish`: SHA-256, in hex, of the rows of all collections, if the store records it. */
  readonly content?: string;
}

/** The audit of a storage adapter. */
export interface DataAudit {
  /**
   * All publications, activations and deletions, oldest first. An entry is written before its change, so that no change
   * lacks one. If the store fails in between, the entry describes a change that was never made.
   */
  list(): Promise<readonly DataAuditEntry[]>;
  /**
   * Checks that the audit is complete and unchanged, and that it matches the stored data.
   * @param expected the hash of an entry that must be present
   */
  verify(expected?: string): Promise<AuditVerification>;
}

/** The contracts for audits. Each entry in an audit contains the hash of the previous one. */

export interface AuditEntry {
  /** RFC 3339 timestamp in UTC, from the clock of the process that made the change. */
  readonly time: string;
  /** The operating system user that ran the process. */
  readonly by: string;
  /** The machine that ran the process, and the address that the user logged in from. */
  readonly host?: string;
  /**
   * The hash of the previous entry, or null for the first one. The store sets this and `hash` when it writes the entry.
   */
  readonly previous?: string | null;
  /** SHA-256, as hex, of all other fields serialized as JSON with sorted property names. */
  readonly hash?: string;
  /**
   * The hash of an earlier entry whose change was never made, because another change came first or the process was
   * stopped.
   */
  readonly undoes?: string;
}

export interface AuditVerification {
  readonly chained: number;
  /** The hash of the newest entry, or null if there are no entries. */
  readonly head: string | null;
  /** Harmless findings, such as a line truncated by a crash or a stored file that was edited by hand. */
  readonly notes: readonly string[];
  /** Errors, such as missing or modified entries, and data that does not match the entries. */
  readonly faults: readonly string[];
}

export interface DataAuditEntry extends AuditEntry {
  /** `prune` deletes a version. */
  readonly action: 'publish' | 'activate' | 'prune';
  readonly version: string;
  /**
   * The version that was current before, or null if there was none. Absent for `prune`, because deletions leave the
   * current version unchanged.
   */
  readonly replaces?: string | null;
  /** For `publish`: SHA-256, as hex, of the rows of all collections. Absent if the store does not record it. */
  readonly content?: string;
}

export interface DataAudit {
  /**
   * Resolves with all publications, activations and deletions, oldest first. An entry is written before its change, so
   * that no change can lack an entry. If the store fails in between, the entry describes a change that was never made.
   */
  list(): Promise<readonly DataAuditEntry[]>;
  /**
   * Checks that the audit is complete and unmodified, and that it matches the stored data.
   * @param expected the hash of an entry that must be present
   */
  verify(expected?: string): Promise<AuditVerification>;
}

/** Audit entries, and the results of verifying them. */

export interface AuditEntry {
  /** When the change was made, by the clock of the process that made it: RFC 3339 in UTC. */
  readonly time: string;
  /** The operating system user that ran the process. */
  readonly by: string;
  /** The machine that ran the process and, if the user logged in from another machine, the address of that machine. */
  readonly host?: string;
  /**
   * The hash of the previous entry, or null for the first entry. The store sets `previous` and `hash` when it writes an
   * entry.
   */
  readonly previous?: string | null;
  /** The SHA-256, in hexadecimal, of all other fields as JSON with sorted property names. */
  readonly hash?: string;
  /**
   * Set if an earlier entry describes a change that was never made, because the process was stopped or another change
   * came first. Contains the hash of that entry.
   */
  readonly undoes?: string;
}

export interface AuditVerification {
  readonly chained: number;
  /** The hash of the newest entry, or null if there are no entries. */
  readonly head: string | null;
  /** Harmless findings, such as a line truncated by a crash or a file edited by hand. */
  readonly notes: readonly string[];
  /** Errors, such as missing or modified entries, and data that does not match the entries. */
  readonly faults: readonly string[];
}

export interface DataAuditEntry extends AuditEntry {
  /** `prune` deletes a version. */
  readonly action: 'publish' | 'activate' | 'prune';
  readonly version: string;
  /**
   * The previous current version, or null if there was none. Not set for `prune`, which does not change the current
   * version.
   */
  readonly replaces?: string | null;
  /**
   * For `publish`: the SHA-256 of the rows of all collections, in hexadecimal. Not set if the store does not compute
   * it.
   */
  readonly content?: string;
}

export interface DataAudit {
  /**
   * Resolves with all publications, activations and deletions, oldest first. Each entry is written before the change
   * that it describes, so that no change is missing. If the store fails in between, the list contains a change that was
   * never made.
   */
  list(): Promise<readonly DataAuditEntry[]>;
  /**
   * Checks that no entry is missing or modified, and that the entries match the stored data.
   * @param expected the hash of an entry that must be present
   */
  verify(expected?: string): Promise<AuditVerification>;
}

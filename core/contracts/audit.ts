/** What entries of any audit have: who made the change, when, from where, and the chain of hashes. */

export interface AuditEntry {
  /** RFC 3339, UTC, by the clock of the process that made the change. */
  readonly time: string;
  /** The operating system's name of the user who made the change. */
  readonly by: string;
  /** The machine on which it was made, and where its user had logged in from. Absent in entries of version 1.0. */
  readonly host?: string;
  /** The hash of the entry before; null: there was none. Absent, as the next, in entries of version 1.0. */
  readonly previous?: string | null;
  /** SHA-256, in hex, of all other fields as JSON with sorted names. */
  readonly hash?: string;
  /** The hash of an entry before, whose change was not made: somebody else's came first, or the process was stopped. */
  readonly undoes?: string;
}

export interface AuditVerification {
  /** Entries that are chained. */
  readonly chained: number;
  /** Older entries, which version 1.0 wrote without hashes: the first chained one holds them as they were then. */
  readonly unchained: number;
  /** The hash of the newest entry; null: there is none. */
  readonly head: string | null;
  /** What is no fault of the audit, and worth knowing: a line that a crash cut off, a stored file that was edited. */
  readonly notes: readonly string[];
  /** Where entries are missing or not as they were written, or what they tell is not what is there. */
  readonly faults: readonly string[];
}

/** The audit's entry for one change of what a store publishes. */
export interface DataAuditEntry extends AuditEntry {
  /** `prune`: deleted. */
  readonly action: 'publish' | 'activate' | 'prune';
  readonly version: string;
  /** The version that was the current one before. Null: there was none. Absent: `prune`, which changes no pointer. */
  readonly replaces?: string | null;
  /** `publish`: SHA-256, in hex, of the rows of all collections. Absent where the store does not tell it. */
  readonly content?: string;
}

/** What a store tells of its own changes. */
export interface DataAudit {
  /**
   * Publications, activations and deletions that were made, the oldest first. An entry is written before its change is
   * made, so that every change has one; if the store fails in between, there is an entry of a change that was not made.
   */
  list(): Promise<readonly DataAuditEntry[]>;
  /**
   * Whether the audit is complete and unchanged, and agrees with what the store has.
   * @param expected the hash of an entry that must be there
   */
  verify(expected?: string): Promise<AuditVerification>;
}

/** What a run measures and for how long. */

export const SECTIONS = ['day', 'keys', 'throughput', 'mongo', 'scale', 'workers', 'publishing'] as const;
/** Measured only where it is named: it needs another version. */
export const VERSIONS = 'versions';
export type SectionName = (typeof SECTIONS)[number] | typeof VERSIONS;

export interface Settings {
  readonly mode: 'full' | 'quick';
  /** How often each contender has its turn; the median of its turns counts. */
  readonly rounds: number;
  /** Of one turn. */
  readonly seconds: number;
  /** Multiples of FHFA's data. */
  readonly scales: readonly number[];
  /** The folder of another version's checkout, installed and built. */
  readonly against?: string;
}

export const FULL: Settings = {
  mode: 'full',
  rounds: 7,
  seconds: 2,
  scales: [1, 10, 100],
};

/** Ends in ten minutes: enough to see that all works, too little to quote. */
export const QUICK: Settings = { mode: 'quick', rounds: 1, seconds: 1, scales: [1, 10] };

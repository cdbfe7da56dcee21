import type { History } from '../../../../core/contracts/storage.js';
import type { BrokenAdapter } from './breaking.js';

const ALL_MOVES = 'history read() returns every change of the current version with its time, oldest first';
const REUSED = 'history read() returns null for a deleted version, even if its name is in use again';
const CURRENT = 'history read() ends with the current version, and returns the entries of the audit';
const CLEARED = 'history clear() deletes all versions and the audit, and their names can be used again';
const RESTORED = 'history write() restores what read() returned: versions, times and the audit';
const REPLACED = 'history write() replaces all times and the current version';
const NEVER_MADE = 'history write() replaces the audit, including entries for changes that were never made';
const CLOSED = 'history cannot be used after close()';

const breaking = (
  that: string,
  fails: readonly string[],
  change: (history: History) => Partial<History>,
): BrokenAdapter => ({
  that,
  fails,
  database: true,
  fault: ({ history }) => ({ history: { ...history!, ...change(history!) } }),
});

export const historyBugs: readonly BrokenAdapter[] = [
  breaking('reads a history without deleted versions', [ALL_MOVES, REUSED, RESTORED], (history) => ({
    async read() {
      const { moves, audit } = await history.read();
      return { moves: moves.filter(({ version }) => version !== null), audit };
    },
  })),
  breaking('reads a history without its audit', [CURRENT, NEVER_MADE], (history) => ({
    read: async () => ({ ...(await history.read()), audit: [] }),
  })),
  breaking('reads a history with the newest change first', [ALL_MOVES, REUSED, CURRENT], (history) => ({
    async read() {
      const { moves, audit } = await history.read();
      return { moves: moves.toReversed(), audit };
    },
  })),
  breaking('reads only publications', [ALL_MOVES, RESTORED], (history) => ({
    async read() {
      const { moves, audit } = await history.read();
      const isFirst = ({ version }: (typeof moves)[number], i: number) =>
        version === null || moves.findIndex((each) => each.version === version) === i;
      return { moves: moves.filter(isFirst), audit };
    },
  })),
  breaking('reads only the last ten changes', [ALL_MOVES], (history) => ({
    async read() {
      const { moves, audit } = await history.read();
      return { moves: moves.slice(-10), audit };
    },
  })),
  breaking('reads the times of a history in seconds', [ALL_MOVES, CURRENT], (history) => ({
    async read() {
      const { moves, audit } = await history.read();
      const inSeconds = (time: Date) => new Date(Math.floor(time.getTime() / 1000) * 1000);
      return { moves: moves.map((move) => ({ ...move, publishedAt: inSeconds(move.publishedAt) })), audit };
    },
  })),
  breaking('does not clear anything', [CLEARED, RESTORED, NEVER_MADE], () => ({ clear: async () => {} })),
  breaking('clears only the versions', [CLEARED], (history) => ({
    async clear() {
      const { audit } = await history.read();
      await history.clear();
      await history.write({ moves: [], versions: [], audit });
    },
  })),
  breaking('clears only the audit', [CLEARED, RESTORED, NEVER_MADE], (history) => ({
    async clear() {
      await history.write({ ...(await history.read()), versions: [], audit: [] });
    },
  })),
  breaking('does not write a history', [RESTORED, REPLACED, NEVER_MADE], () => ({ write: async () => {} })),
  breaking('writes only the last change', [RESTORED, REPLACED], (history) => ({
    write: (given) => history.write({ ...given, moves: given.moves.slice(-1) }),
  })),
  breaking('writes a history without deleted versions', [RESTORED, REPLACED], (history) => ({
    write: (given) => history.write({ ...given, moves: given.moves.filter(({ version }) => version !== null) }),
  })),
  breaking('does not write the times of publication', [REPLACED], (history) => ({
    write: (given) => history.write({ ...given, versions: [] }),
  })),
  breaking('writes only entries for changes that were made', [NEVER_MADE], (history) => ({
    write: (given) => history.write({ ...given, audit: given.audit.slice(0, 1) }),
  })),
  breaking('adds the audit that is written to its own', [RESTORED, NEVER_MADE], (history) => ({
    async write(given) {
      const { audit } = await history.read();
      await history.write({ ...given, audit: [...audit, ...given.audit] });
    },
  })),
  {
    that: 'verifies only that the expected entry exists',
    fails: ['history write() of an audit that was edited makes verify() report errors'],
    database: true,
    fault: ({ audit }) => ({
      audit: {
        list: () => audit!.list(),
        async verify(expected) {
          const verified = await audit!.verify(expected);
          return expected === undefined ? { ...verified, faults: [] } : verified;
        },
      },
    }),
  },
  {
    that: 'stores only the current version, and does not write its time',
    fails: ['history write() replaces the time of the current version'],
    files: true,
    fault: ({ history }) => ({
      history: { ...history!, write: (given) => history!.write({ ...given, moves: [] }) },
    }),
  },
  breaking('reads its history after close()', [CLOSED], (history) => ({
    read: () => history.read().catch(() => ({ moves: [], audit: [] })),
  })),
];

/** Compares all audit entries and publication times of a sequence of steps with the model. */
import type { DataAuditEntry } from 'metro-forecast-api/adapter';
import { isEmpty, sameList, sameValue } from './expect.js';
import type { Opened } from './instance.js';
import { labelOf, type Move, type Version } from './steps.js';

export interface Entry extends Pick<DataAuditEntry, 'action' | 'version'> {
  readonly replaces?: string | null | undefined;
}

interface Past {
  readonly moves: readonly Move[];
  readonly versions: readonly Version[];
  readonly entries: readonly Entry[];
}

/** Deletions of the same call can be in any order, so the names of consecutive deletions are sorted. */
const shown = (entries: readonly Entry[]): string[] => {
  const lines: string[] = [];
  let deleted: string[] = [];
  const end = () => {
    lines.push(...deleted.sort());
    deleted = [];
  };
  for (const { action, version, replaces } of entries) {
    if (action === 'prune') deleted.push(`prune ${version}`);
    else {
      end();
      lines.push(`${action} ${version}, replaces ${replaces}`);
    }
  }
  end();
  return lines;
};

export const agreesAtEnd = async ({ adapter }: Opened, name: string, past: Past): Promise<void> => {
  const { moves, versions, entries } = past;
  if (moves.length === 0) return;
  const isStored = ({ version }: Move) => versions.includes(version);
  for (const [i, move] of moves.entries()) {
    const until = moves[i + 1]?.since ?? move.since + 1;
    for (const time of new Set([move.since, until - 1])) {
      const snapshot = await adapter.versions!.asOf(new Date(time));
      const label = snapshot && (await labelOf(snapshot));
      const rule = `asOf(${new Date(time).toISOString()}) of ${name} at the end`;
      sameValue(label, isStored(move) ? move.version.label : undefined, rule);
    }
  }
  if (adapter.history) {
    const expected = moves.map((move) => ({
      version: isStored(move) ? move.version.name : null,
      publishedAt: new Date(move.since),
    }));
    sameList((await adapter.history.read()).moves, expected, `history.read() of ${name} at the end`);
  }
  if (!adapter.audit) return;
  sameList(shown(await adapter.audit.list()), shown(entries), `audit.list() of ${name} at the end`);
  isEmpty((await adapter.audit.verify()).faults, `audit.verify() of ${name} to find no errors at the end`);
};

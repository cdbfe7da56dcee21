import { expect } from 'chai';
import fc from 'fast-check';
import { auditEntry, compareWithAudit, entriesInDoubt, entriesOf } from '../../../core/audit/key-audit.js';
import type { KeyAuditEntry, KeyRecord } from '../../../core/contracts/keys.js';
import { newRecord } from '../../support/key-record.js';

const pool = Array.from({ length: 4 }, (_, i) => newRecord({ id: `key_${i}`, hash: String(i).repeat(64) }));
const parts = fc.constantFrom<Partial<KeyRecord>>(
  {},
  { limit_per_minute: 5 },
  { limit_per_minute: null },
  { tier: 'other' },
  { hash: 'f'.repeat(64) },
  { pepper: 1 },
);
const steps = fc.array(
  fc.record({ key: fc.nat(3), part: parts, kind: fc.constantFrom('change', 'unrecorded', 'remove', 'unmade', 'undo') }),
  { maxLength: 12 },
);

async function* stream(entries: readonly KeyAuditEntry[]): AsyncGenerator<KeyAuditEntry> {
  yield* entries;
}

describe('entriesInDoubt(records, read)', () => {
  it('returns the entries that a comparison needs, for random changes, edits and interruptions', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const records = new Map<string, KeyRecord>();
        const entries: KeyAuditEntry[] = [];
        for (const [i, { key, part, kind }] of all.entries()) {
          const { id } = pool[key]!;
          const before = records.get(id);
          const after = { ...(before ?? pool[key]!), ...part };
          const entry = auditEntry(before, after, i);
          if (kind === 'undo') {
            const last = entries.at(-1);
            if (last?.hash) entries.push({ ...last, hash: `hash ${i}`, undoes: last.hash });
            continue;
          }
          if (kind === 'remove') {
            records.delete(id);
            const [found] = entriesOf([{ key: id }], i);
            if (before && i % 2 === 0) entries.push(found!);
            continue;
          }
          if (kind !== 'unmade') records.set(id, after);
          if (kind !== 'unrecorded' && entry) entries.push({ ...entry, hash: `hash ${i}` });
        }
        const doubtful = await entriesInDoubt([...records.values()], () => stream(entries));
        expect(compareWithAudit(doubtful.records, doubtful.entries)).to.deep.equal(
          compareWithAudit([...records.values()], entries),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps no entry if every record agrees with the audit', async () => {
    const entries = pool.map((record) => auditEntry(undefined, record, 0)!);
    expect(await entriesInDoubt(pool, () => stream(entries))).to.deep.equal({ records: [], entries: [] });
  });
});

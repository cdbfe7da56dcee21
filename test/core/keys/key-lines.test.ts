import { expect } from 'chai';
import fc from 'fast-check';
import type { KeyRecord } from '../../../core/contracts/keys.js';
import { formatKeyFile, parseKeyFile } from '../../../core/keys/key-file.js';
import { KeyLines } from '../../../core/keys/key-lines.js';
import { withChange } from '../../../core/keys/key-table.js';
import { newRecord } from '../../support/key-record.js';

const pool = Array.from({ length: 12 }, (_, i) =>
  newRecord({ id: `key_${i}`, hash: String(i % 10).repeat(64), name: i % 3 === 0 ? 'é, "\n' : `name ${i}` }),
);
const files = fc.uniqueArray(fc.constantFrom(...pool), { selector: ({ hash }) => hash, maxLength: 8 });
const edit = fc.record({ limit_per_minute: fc.constantFrom(null, 5, 50) });

const read = (content: string): readonly KeyRecord[] | undefined => {
  try {
    return parseKeyFile('keys.json', content);
  } catch {
    return undefined;
  }
};

/** Returns the keys after a change. Returns undefined if the changed lines were not found or the keys are invalid. */
const changed = (before: readonly KeyRecord[], content: string): readonly KeyRecord[] | undefined => {
  const { lines, records } = KeyLines.read(Buffer.from(formatKeyFile(before)))!;
  expect(records).to.deep.equal(before);
  const change = lines.changeTo(Buffer.from(content));
  return change && withChange(records, change);
};

describe('KeyLines', () => {
  it('finds every change that a command makes to a file', () => {
    fc.assert(
      fc.property(files, files, edit, (before, after, part) => {
        const [first, ...rest] = after;
        const next = first ? [{ ...first, ...part }, ...rest] : after;
        const content = formatKeyFile(next);
        fc.pre(content !== formatKeyFile(before));
        expect(changed(before, content)).to.deep.equal(read(content));
      }),
      { numRuns: 1000 },
    );
  });

  it('finds only changes that reading the whole file finds, for any edit', () => {
    const piece = fc.constantFrom('', ',', '\n', '{', '}', ' ', 'x', '\n    {}', ',\n', JSON.stringify(pool[0]));
    fc.assert(
      fc.property(files, fc.nat(2000), fc.nat(400), piece, (before, at, size, text) => {
        const content = formatKeyFile(before);
        const edited = content.slice(0, at) + text + content.slice(at + size);
        const found = changed(before, edited);
        if (found) expect(found).to.deep.equal(read(edited));
      }),
      { numRuns: 3000 },
    );
  });

  it('reports the neighbouring lines that changed, and the index of the first', () => {
    const before = pool.slice(0, 5);
    const { lines } = KeyLines.read(Buffer.from(formatKeyFile(before)))!;
    const next = { ...pool[2]!, limit_per_minute: 7 };
    const change = lines.changeTo(Buffer.from(formatKeyFile(before.with(2, next))));
    expect(change).to.deep.include({ at: 2, removed: [pool[2]], added: [next] });
  });

  it('rejects a file that was written by hand or contains an error', () => {
    for (const content of [
      JSON.stringify({ format: 1, keys: [pool[0]] }),
      formatKeyFile(pool.slice(0, 2)).replace('"enterprise"', '7'),
      formatKeyFile(pool.slice(0, 2)).replace('},\n', '}\n'),
      formatKeyFile(pool.slice(0, 2)).slice(0, -3),
      '',
    ]) {
      expect(KeyLines.read(Buffer.from(content)), content).to.equal(undefined);
    }
  });
});

import { expect } from 'chai';
import { load } from '../../adapters/json/load.js';
import type { Snapshot } from '../../core/contracts/storage.js';
import { writeDirectory } from '../../core/data/write-directory.js';
import { ObservedPool } from '../support/observed-pool.js';
import { until } from '../support/until.js';
import { collections, manifestOf } from '../support/weather.js';
import { eachInstance, withSnapshot } from './json-instance.js';

const STATIONS = 20_000;
/** Together, the names are longer than 16 MiB. */
const NAME_LENGTH = 1000;

const nameOf = (version: number, i: number): string => `${version} ${i} `.padEnd(NAME_LENGTH, '-');

const writeLarge = (path: string, version: number) => {
  const stations = Array.from({ length: STATIONS }, (_, i) => ({
    id: String(i).padStart(6),
    name: nameOf(version, i),
  }));
  const created = `2026-01-0${version}T00:00:00Z`;
  return writeDirectory(path, manifestOf(`v${version}`, created), { stations: [stations], readings: [] });
};

/** Returns the rows that do not belong to this version. */
const wrongRows = async (snapshot: Snapshot, version: number): Promise<readonly unknown[]> => {
  const wrong: unknown[] = [];
  let i = 0;
  for await (const batch of snapshot.find('stations', { order: ['id'] }))
    for (const row of batch) if (row['name'] !== nameOf(version, i++)) wrong.push(row);
  return i === STATIONS ? wrong : [...wrong, `${i} rows`];
};

describe('the json adapter loads a version of more than 16 MiB', () => {
  const instance = eachInstance();

  it('into the memory of earlier versions', async () => {
    await writeLarge(instance.path, 1);
    const pool = new ObservedPool();
    const { signal } = new AbortController();
    const loads = 4;
    for (let i = 0; i < loads; i++) {
      const { loaded } = await load(instance.path, { collections, served: { bytes: 1, positions: 1 }, pool, signal });
      expect(loaded?.collections.get('stations')?.length).to.equal(STATIONS);
    }
    expect(pool.lent.length).to.equal(loads);
    expect(new Set(pool.lent).size).to.be.below(loads);
  });

  it('into memory that no snapshot reads', async () => {
    await writeLarge(instance.path, 1);
    await instance.adapter.open();
    await withSnapshot(instance, async (first) => {
      for (const version of [2, 3, 4, 5]) {
        await writeLarge(instance.path, version);
        await until(() => instance.changes.at(-1) === `v${version}`);
        await withSnapshot(instance, async (current) => {
          expect(await wrongRows(current, version)).to.deep.equal([]);
        });
        expect(await wrongRows(first, 1)).to.deep.equal([]);
      }
    });
  });
});

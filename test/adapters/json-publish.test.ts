/** Publishing into the JSON adapter's directory: what is refused leaves it as it is. */
import { readdir, rm, writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Document } from '../../core/contracts/dataset.js';
import type { Dataset } from '../../core/contracts/storage.js';
import { StorageError } from '../../core/errors.js';
import { manifestOf, rows } from '../core/data/weather.js';
import { eachInstance, expectServed, writeVersion } from './json-instance.js';

const datasetOf = (version: string, content: Readonly<Record<string, readonly Document[]>>): Dataset => ({
  manifest: manifestOf(version, '2026-01-09T00:00:00Z'),
  // A batch a row.
  async *read(collection) {
    for (const row of content[collection]!) yield [row];
  },
});

describe('json.publish()', () => {
  const instance = eachInstance();
  beforeEach(async () => {
    await writeVersion(instance.path, 1);
    await instance.adapter.open();
  });

  const refusal = async (dataset: Dataset): Promise<StorageError> => {
    const error = await instance.adapter.publish!(dataset).then(
      () => expect.fail('it was published'),
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(StorageError);
    return error as StorageError;
  };

  it('rejects with invalid_dataset and every fault of one that is not valid, and writes nothing', async () => {
    const files = await readdir(instance.path);
    const readings = [
      { ...rows.readings[0], low: 1e6 },
      { ...rows.readings[1], station: 'nowhere' },
    ];
    const { code, message } = await refusal(datasetOf('v2', { stations: rows.stations, readings }));
    expect(code).to.equal('invalid_dataset');
    expect(message.split('\n')).to.deep.equal([
      'The dataset is not valid:',
      '  - readings:1: low: must not be above high',
      '  - readings:2: station: refers to nowhere, which is not in "stations"',
    ]);
    expect(await readdir(instance.path)).to.deep.equal(files);
    await expectServed(instance, 1);
  });

  it('rejects with unavailable where the directory cannot be written, says which, and goes on serving', async () => {
    await rm(instance.path, { recursive: true });
    await writeFile(instance.path, 'a file in its place');
    const { code, message, cause } = await refusal(datasetOf('v2', rows));
    expect(code).to.equal('unavailable');
    expect(message).to.include(instance.path);
    expect(cause).to.have.property('name', 'OperatorError');
    expect(instance.adapter.snapshot().version).to.equal('v1');
  });

  it('rejects with conflict while another publication is under way', async () => {
    const first = instance.adapter.publish!(datasetOf('v2', rows));
    const { code, message } = await refusal(datasetOf('v3', rows));
    expect([code, message]).to.deep.equal(['conflict', 'Another publication is under way.']);
    await first;
    expect(instance.adapter.snapshot().version).to.equal('v2');
  });
});

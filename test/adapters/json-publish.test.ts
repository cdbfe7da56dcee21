import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { publicationTime, versionOf } from '../../adapters/conformance/instance.js';
import json from '../../adapters/json/index.js';
import type { Document } from '../../core/contracts/dataset.js';
import type { Dataset, StorageAdapter } from '../../core/contracts/storage.js';
import { openDirectory } from '../../core/data/directory.js';
import { checkDataset } from '../../core/data/validate.js';
import { StorageError } from '../../core/errors.js';
import { WORKER_VARIABLE } from '../../core/util/is-worker.js';
import { until } from '../support/until.js';
import { collections, lines, manifestOf, rows, writeByHand } from '../support/weather.js';
import { contextOf, eachInstance, expectServed, writeVersion } from './json-instance.js';

const datasetOf = (version: string, content: Readonly<Record<string, readonly Document[]>>): Dataset => ({
  manifest: manifestOf(version, '2026-01-09T00:00:00Z'),
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

  const rejection = async (dataset: Dataset): Promise<StorageError> => {
    const error = await instance.adapter.publish!(dataset).then(
      () => expect.fail('publish() did not reject.'),
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(StorageError);
    return error as StorageError;
  };

  it('rejects with invalid_dataset and all errors of an invalid dataset, and writes nothing', async () => {
    const files = await readdir(instance.path);
    const readings = [
      { ...rows.readings[0], low: 1e6 },
      { ...rows.readings[1], station: 'nowhere' },
    ];
    const { code, message } = await rejection(datasetOf('v2', { stations: rows.stations, readings }));
    expect(code).to.equal('invalid_dataset');
    expect(message.split('\n')).to.deep.equal([
      'The dataset is not valid:',
      '  - readings:1: low: must not be above high',
      '  - readings:2: station: refers to nowhere, which is not in "stations"',
    ]);
    expect(await readdir(instance.path)).to.deep.equal(files);
    await expectServed(instance, 1);
  });

  it('rejects with invalid_dataset if the dataset does not fit into memory, and writes nothing', async () => {
    const files = await readdir(instance.path);
    process.env[WORKER_VARIABLE] = '1000000';
    try {
      const { code, message } = await rejection(datasetOf('v2', rows));
      expect(code).to.equal('invalid_dataset');
      expect(message).to.match(/in each of 1000000 workers, in addition to \d+ MiB for the served version/);
    } finally {
      delete process.env[WORKER_VARIABLE];
    }
    expect(await readdir(instance.path)).to.deep.equal(files);
    await expectServed(instance, 1);
  });

  it('rejects with conflict if an earlier version with the same name has other rows, and writes nothing', async () => {
    await instance.adapter.publish!(datasetOf('v2', rows));
    const { version } = instance.adapter.snapshot();
    const { readings } = rows;
    const { code, message } = await rejection(datasetOf('v1', { ...rows, readings: readings.slice(1) }));
    expect(code).to.equal('conflict');
    expect(message).to.include('Change "version" in the manifest.');
    expect(instance.adapter.snapshot().version).to.equal(version);
    expect((await openDirectory(instance.path)).manifest.version).to.equal(version);
  });

  it('rejects with unavailable and the path if the directory is not writable, and continues to serve', async () => {
    await rm(instance.path, { recursive: true });
    await writeFile(instance.path, 'a file in its place');
    const { code, message, cause } = await rejection(datasetOf('v2', rows));
    expect(code).to.equal('unavailable');
    expect(message).to.include(instance.path);
    expect(cause).to.have.property('name', 'OperatorError');
    expect(instance.adapter.snapshot().version).to.equal('v1');
  });

  it('checks each row once, before or during the publication', async () => {
    const source = join(instance.folder, 'source');
    await writeVersion(source, 2);
    let checks = 0;
    const counting = new Map(collections).set('readings', {
      ...collections.get('readings')!,
      check: () => {
        checks++;
        return undefined;
      },
    });
    const target = json.create({ path: 'other' }, contextOf(instance.folder, counting));
    await mkdir(join(instance.folder, 'other'));
    await target.open();
    try {
      const { dataset } = await openDirectory(source);
      await checkDataset(dataset, counting);
      await target.publish!(dataset);
      expect(checks).to.equal(rows.readings.length);
      await target.publish!(datasetOf('v3', rows));
      expect(checks).to.equal(2 * rows.readings.length);
      expect(target.snapshot().version).to.equal('v3');
    } finally {
      await target.close();
    }
  });

  it('rejects with invalid_dataset if a file changed after validation, and changes nothing', async () => {
    const source = join(instance.folder, 'source');
    await writeByHand(source);
    const { dataset } = await openDirectory(source);
    expect((await checkDataset(dataset, collections)).total).to.equal(0);
    await writeFile(join(source, 'readings.ndjson'), lines([{ ...rows.readings[0], low: 1e6 }]));
    const { code, message } = await rejection(dataset);
    expect([code, message]).to.deep.equal(['invalid_dataset', 'readings.ndjson: changed while it was in use']);
    await expectServed(instance, 1);
  });

  describe('with a time of creation that is not later than the current version', () => {
    const older = (version: string): Dataset => ({
      ...datasetOf(version, rows),
      manifest: manifestOf(version, '2025-01-01T00:00:00Z'),
    });
    const timeOf = (adapter: StorageAdapter) => new Date(publicationTime({ adapter }));
    const reopened = async (): Promise<Date> => {
      const adapter = json.create({ path: 'data' }, contextOf(instance.folder, collections));
      try {
        await adapter.open();
        return timeOf(adapter);
      } finally {
        await adapter.close();
      }
    };

    it('stores the publication time in the manifest, which the snapshot does not return', async () => {
      await instance.adapter.publish!(older('v2'));
      const time = timeOf(instance.adapter);
      expect(time).to.be.above(new Date('2026-01-01'));
      expect(await reopened()).to.deep.equal(time);
      expect((await openDirectory(instance.path)).manifest.published_at).to.equal(time.toISOString());
      expect(instance.adapter.snapshot().manifest).to.deep.equal(older('v2').manifest);
    });

    it('keeps all times if the version is published again', async () => {
      await instance.adapter.publish!(older('v2'));
      const time = timeOf(instance.adapter);
      await instance.adapter.publish!({ ...older('v2'), manifest: manifestOf('v2', '2027-01-01T00:00:00Z') });
      expect(await reopened()).to.deep.equal(time);
      expect((await openDirectory(instance.path)).manifest.created).to.equal('2025-01-01T00:00:00Z');
    });

    it('keeps the time if a damaged manifest is repaired', async () => {
      await instance.adapter.publish!(older('v2'));
      const time = timeOf(instance.adapter);
      await writeFile(join(instance.path, 'manifest.json'), '{');
      await instance.adapter.publish!(older('v2'));
      expect(await reopened()).to.deep.equal(time);
    });

    it('ignores the stored time in a copied directory if it is not later than the current time', async () => {
      await instance.adapter.publish!(older('v2'));
      const time = timeOf(instance.adapter);
      const path = join(instance.path, 'manifest.json');
      const text = await readFile(path, 'utf8');
      await writeFile(path, text.replace('"v2"', '"v3"'));
      await until(() => versionOf(instance.adapter) === 'v3', { withinMs: 20_000 });
      expect(timeOf(instance.adapter)).to.be.above(time);
    });

    it('restores the time with history.write()', async () => {
      const publishedAt = new Date('2026-06-01T00:00:00.123Z');
      const versions = [{ version: 'v1', publishedAt }];
      await instance.adapter.history!.write({ versions, moves: versions, audit: [] });
      expect(timeOf(instance.adapter)).to.deep.equal(publishedAt);
      expect(await reopened()).to.deep.equal(publishedAt);
      expect((await openDirectory(instance.path)).manifest.version).to.equal('v1');
    });
  });

  it('rejects with conflict while another publication is running', async () => {
    const first = instance.adapter.publish!(datasetOf('v2', rows));
    const { code, message } = await rejection(datasetOf('v3', rows));
    expect([code, message]).to.deep.equal(['conflict', 'Another publication is in progress.']);
    await first;
    expect(instance.adapter.snapshot().version).to.equal('v2');
  });

  it('ends before close() resolves', async () => {
    let go: (() => void) | undefined;
    const paused: Dataset = {
      ...datasetOf('v2', rows),
      async *read(collection) {
        await new Promise<void>((resolve) => {
          go = resolve;
        });
        yield rows[collection as keyof typeof rows];
      },
    };
    let error: unknown;
    const publication = instance.adapter.publish!(paused).catch((reason: unknown) => {
      error = reason;
    });
    await until(() => go !== undefined, { withinMs: 20_000 });
    const closing = instance.adapter.close();
    go!();
    await closing;
    expect(error).to.have.property('code', 'closed');
    await publication;
  });
});

/** Checks that storage responds, and that every row that it would serve is valid. */
import { resolve } from '../../app/container.js';
import type { Dataset, Snapshot, StorageAdapter } from '../../core/contracts/storage.js';
import { checkDataset } from '../../core/dataset/validate.js';
import { StorageError } from '../../core/errors.js';
import { count } from '../output.js';
import { type CheckContext, type Finding, failure, type OnRows } from './finding.js';

const MOST_FAULTS = 10;

export interface StorageFinding {
  readonly finding: Finding;
  /** Whether there is a snapshot to look into. */
  readonly readable: boolean;
  close(): Promise<void>;
}

/** Opens the adapter, which stays open until `close`. */
export const checkStorage = async ({ container, loaded }: CheckContext): Promise<StorageFinding> => {
  const { use, options } = loaded.config.adapter;
  let adapter: StorageAdapter | undefined;
  const close = async () => void (await adapter?.close());
  try {
    adapter = resolve(container, 'adapter');
    await adapter.open();
    await adapter.ping();
  } catch (error) {
    const where = ['uri', 'path'].find((name) => name in options);
    const isUnfit = error instanceof StorageError && error.code === 'invalid_dataset';
    const advice = [
      `look at adapter.options${where ? `.${where}` : ''} of the configuration`,
      ...(isUnfit
        ? ['"metro-forecast publish DIR" replaces a damaged dataset, and makes the folder of a missing one']
        : []),
    ];
    return { finding: failure('storage', error, advice), readable: false, close };
  }
  try {
    const snapshot = adapter.snapshot();
    const { version, publishedAt, manifest } = snapshot;
    snapshot.release();
    const message = `${use} serves version ${version}, vintage ${manifest.vintage}, published ${publishedAt.toISOString()}`;
    const finding: Finding = manifest.synthetic
      ? { check: 'storage', state: 'ok', message: `${message}; its numbers are made up` }
      : { check: 'storage', state: 'ok', message };
    return { finding, readable: true, close };
  } catch (error) {
    return { finding: failure('storage', error, ['metro-forecast publish DIR']), readable: false, close };
  }
};

/** The current version in storage, read back as a dataset. */
const datasetOf = (snapshot: Snapshot, { modules }: CheckContext): Dataset => ({
  manifest: snapshot.manifest,
  read: (name) => snapshot.find(name, { order: modules.registry.collections.get(name)!.key }),
});

export const checkDatasetRows = async (service: CheckContext, onRows: OnRows): Promise<Finding> => {
  const { collections } = service.modules.registry;
  const rows = new Map<string, number>();
  const total = () => [...rows.values()].reduce((sum, n) => sum + n, 0);
  let snapshot: Snapshot | undefined;
  try {
    snapshot = resolve(service.container, 'adapter').snapshot();
    const faults = await checkDataset(datasetOf(snapshot, service), collections, {
      maxFaults: MOST_FAULTS,
      onProgress(progress) {
        rows.set(progress.collection, progress.rows);
        onRows(total());
      },
    });
    const message = `${collections.size} collections, ${count.format(total())} rows`;
    if (faults.total === 0) return { check: 'dataset', state: 'ok', message };
    const advice = [...faults.lines(), 'publish a dataset that "metro-forecast validate DIR" finds valid'];
    return { check: 'dataset', state: 'failed', message: `${message}; faults: ${faults.total}`, advice };
  } catch (error) {
    return failure('dataset', error);
  } finally {
    snapshot?.release();
  }
};

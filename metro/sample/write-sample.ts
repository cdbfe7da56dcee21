/** Writes the embedded sample as a dataset directory. */
import { writeDirectory } from '../../core/dataset/write-directory.js';
import { makeSample } from './sample.js';

/** The same bytes each time. */
export const writeSample = async (directory: string): Promise<void> => {
  const { manifest, collections } = makeSample();
  const batches = Object.entries(collections).map(([name, rows]) => [name, [rows]] as const);
  await writeDirectory(directory, manifest, Object.fromEntries(batches));
};

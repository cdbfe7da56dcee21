import type { Document } from '../../../../core/contracts/dataset.js';
import type { Dataset, PublishOptions } from '../../../../core/contracts/storage.js';
import { type Content, FolderAdapter } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

/** Returns an adapter that accepts a version name twice if `partOf` returns the same value for both contents. */
const comparing = (partOf: (content: Content) => unknown): Pick<BrokenAdapter, 'fails' | 'folder'> => ({
  fails: ['versions with similar or equal rows are rejected with conflict under a name that is taken'],
  folder: class extends FolderAdapter {
    override async onTaken(dataset: Dataset) {
      const { id } = this.catalog.versions.find(({ version }) => version === dataset.manifest.version)!;
      const content = await this.readAll(dataset, {});
      if (JSON.stringify(partOf(content)) !== JSON.stringify(partOf(this.contentOf(id)))) await super.onTaken(dataset);
    }
  },
});

const ofRows = (change: (rows: readonly Document[]) => unknown) =>
  comparing((content) => Object.values(content).map(change));

export const takenBugs: readonly BrokenAdapter[] = [
  { that: 'compares only the first hundred rows of a stored version', ...ofRows((rows) => rows.slice(0, 100)) },
  { that: 'compares only the last rows of a stored version', ...ofRows((rows) => rows.at(-1)) },
  { that: 'compares the values of a stored version, but no names', ...ofRows((rows) => rows.map(Object.values)) },
  { that: 'compares the first collection of a stored version', ...comparing((content) => Object.values(content)[0]) },
  {
    that: 'leaves a listener on the signal of a publication under an existing name',
    fails: ['a signal has no listeners after publish(), whether it succeeds or fails'],
    folder: class extends FolderAdapter {
      override async publish(dataset: Dataset, options: PublishOptions = {}) {
        if (this.isTaken(dataset.manifest.version)) options.signal?.addEventListener('abort', () => {});
        await super.publish(dataset, options);
      }
    },
  },
];

/** Defines adapters that miss a change if names, numbers or file sizes stay the same. */
import { readFileSync, statSync } from 'node:fs';
import type { Manifest } from '../../../../core/contracts/dataset.js';
import { type Catalog, FolderAdapter } from '../folder-adapter.js';
import type { BrokenAdapter } from './breaking.js';

const other = (what: string) => `another adapter over the same store ${what}`;
const LOOKS = other('notices versions that replace others with the same names, numbers and sizes');
const SIZES = other('notices a change that changes no file size');

/** Reads the catalog again only if `markOf` has changed. */
const noticing = (markOf: (catalog: Catalog, path: string) => unknown) =>
  class extends FolderAdapter {
    #mark: unknown;
    override look() {
      const path = this.path('catalog.json');
      if (this.closed || !statSync(path, { throwIfNoEntry: false })) return;
      const catalog: Catalog = JSON.parse(readFileSync(path, 'utf8'));
      const mark = markOf(catalog, path);
      if (mark === this.#mark) return;
      this.#mark = mark;
      super.look();
    }
    override save(catalog: Catalog) {
      this.#mark = undefined;
      super.save(catalog);
    }
  };

let ids = 0;

export const sameSizeBugs: readonly BrokenAdapter[] = [
  {
    that: 'notices changes by the size of its catalog',
    fails: [SIZES],
    folder: noticing((_catalog, path) => statSync(path).size),
  },
  {
    that: 'notices changes by the number of versions and the name of the current one',
    fails: [LOOKS],
    folder: noticing(({ versions, moves }) => `${versions.length} ${moves.at(-1)?.version}`),
  },
  {
    that: 'notices changes by the names of the versions and the current manifest',
    fails: [LOOKS],
    folder: noticing(({ versions, moves }) =>
      JSON.stringify([
        versions.map(({ version }) => version),
        versions.find(({ id }) => id === moves.at(-1)?.id)?.manifest,
        moves.at(-1)?.version,
      ]),
    ),
  },
  {
    that: 'numbers the files of its versions from 1 in each process',
    fails: [
      'an adapter in another process, over the same store publishes after a restart: all versions keep their rows',
    ],
    folder: class extends FolderAdapter {
      override newId(_manifest: Manifest) {
        return `n${++ids}`;
      }
    },
  },
];

/** A document of `docs/` as a page below the reference: the file itself, set by the browser. */
import { join } from 'node:path';
import type { Mount } from '../../core/contracts/plugin.js';
import { packageRoot } from '../../core/files/package.js';
import { asset, filesIn, type Page, pageMount } from '../pages/page-mount.js';

export interface Guide extends Omit<Page, 'files'> {
  /** The name of the file in `docs/`. */
  readonly document: string;
  /** In the place of those of other guides, or beside them. */
  readonly files?: Readonly<Record<string, string>>;
}

export const guidePage = ({ document, files, ...page }: Guide): Mount =>
  pageMount({
    ...page,
    files: {
      ...filesIn(asset('guides', 'assets')),
      'guide.md': join(packageRoot, 'docs', document),
      ...files,
    },
  });

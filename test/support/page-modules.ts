/** Modules of pages in Node: their folders are served as one, so that they are copied into one. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../../core/util/package.js';

/**
 * @param folder of the page, below `plugins/`
 * @param names of modules, without `.js`; none of them may need a document when it is loaded
 */
export const pageModules = async (folder: string, ...names: readonly string[]) => {
  const copies = mkdtempSync(join(tmpdir(), 'metro-forecast-modules-'));
  try {
    for (const each of ['pages/shared', 'pages/data-views', folder]) {
      cpSync(join(packageRoot, 'plugins', each), copies, { recursive: true });
    }
    writeFileSync(join(copies, 'package.json'), '{"type":"module"}');
    // biome-ignore lint/suspicious/noExplicitAny: their types are those of browsers
    const modules: any[] = await Promise.all(
      names.map((name) => import(pathToFileURL(join(copies, `${name}.js`)).href)),
    );
    return Object.assign({}, ...modules);
  } finally {
    rmSync(copies, { recursive: true });
  }
};

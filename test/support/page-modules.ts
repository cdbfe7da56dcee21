/** Imports browser modules into Node. The modules must not use `document` while they load. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../../core/util/package.js';

export const pageModules = async (...names: readonly string[]) => {
  // biome-ignore lint/suspicious/noExplicitAny: their types need the DOM, which this project's types do not include
  const modules: any[] = await Promise.all(
    names.map((name) => import(pathToFileURL(join(packageRoot, `${name}.js`)).href)),
  );
  return Object.assign({}, ...modules);
};

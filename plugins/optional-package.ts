/** Packages that only the users of one plugin install: they are large, and most services do without. */
import { OperatorError } from '../core/errors.js';
import { peerDependencies } from '../core/util/package.js';

/**
 * For the `catch` of an import.
 * @param names as in `peerDependencies`; all of them are named with the versions that fit
 * @throws OperatorError that says how to install them, where one is missing
 */
export const explainMissing =
  (...names: readonly string[]) =>
  (cause: unknown): never => {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const wanted = names.map((name) => `"${name}@${peerDependencies[name]}"`).join(' ');
    const what = names.length > 1 ? 'packages, not all of which are' : `the package ${names[0]}, which is not`;
    throw new OperatorError(`it needs ${what} installed: npm install ${wanted}`, [], { cause });
  };

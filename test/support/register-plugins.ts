/** Fits plugins together, for tests of one or a few of them. */
import { OperatorError } from '../../core/errors.js';
import { fitPlugins, type Registry } from '../../core/registry/register-plugins.js';

/** @throws OperatorError that lists every fault */
export const registerPlugins = (...given: Parameters<typeof fitPlugins>): Registry => {
  const { registry, faults } = fitPlugins(...given);
  if (faults.length > 0) throw new OperatorError('The plugins do not fit together:', faults);
  return registry;
};

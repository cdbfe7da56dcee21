/** Registers one or several plugins as the service does. */
import { OperatorError } from '../../core/errors.js';
import { fitPlugins, type Registry } from '../../core/registry/register-plugins.js';

/** @throws OperatorError that lists every error */
export const registerPlugins = (...given: Parameters<typeof fitPlugins>): Registry => {
  const { registry, faults } = fitPlugins(...given);
  if (faults.length > 0) throw new OperatorError('The plugins do not fit together:', faults);
  return registry;
};

import { OperatorError } from '../../core/errors.js';
import { type Registry, registerPlugins as register } from '../../core/registry/register-plugins.js';

/** @throws OperatorError that lists every error */
export const registerPlugins = (...given: Parameters<typeof register>): Registry => {
  const { registry, errors } = register(...given);
  if (errors.length > 0) throw new OperatorError('The plugins cannot be used together:', errors);
  return registry;
};

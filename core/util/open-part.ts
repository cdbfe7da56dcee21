import { OperatorError } from '../errors.js';

/**
 * Calls a plugin's factory of identities or observers, and checks the object that it returns.
 * @param name the plugin's function, for error messages
 * @param member a method that the object must have
 * @throws OperatorError that names the plugin
 */
export const openPart = <Part extends object>(
  plugin: string,
  name: string,
  member: keyof Part & string,
  open: () => Part,
): Part => {
  const failure = (text: string, cause?: unknown) =>
    new OperatorError(`The ${name} of plugin "${plugin}" cannot be used: ${text}`, [], { cause });
  let part: Part;
  try {
    part = open();
  } catch (error) {
    throw failure(error instanceof Error ? error.message : String(error), error);
  }
  if (typeof part?.[member] === 'function') return part;
  const isPromise = typeof (part as Partial<Promise<unknown>> | undefined)?.then === 'function';
  throw failure(
    isPromise ? `it is a promise; "${name}" must not be async.` : `it must be an object with a function "${member}".`,
  );
};

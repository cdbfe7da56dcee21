import { OperatorError } from '../errors.js';

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

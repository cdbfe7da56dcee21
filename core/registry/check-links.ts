/** Whether a route's parameters are found where they say: in the examples of other routes' answers. */
import { pointerPath, valueAt } from '../config/path.js';
import type { Parameter, Route } from '../contracts/plugin.js';
import { compileSchema } from '../schema.js';

/** Every fault of `foundIn`, each a sentence that names the route. Operations that are not there are nobody's fault. */
export const linkFaults = (route: Route, routes: readonly Route[]): string[] =>
  Object.entries({ ...route.parameters?.path, ...route.parameters?.query }).flatMap(([name, parameter]) =>
    Object.entries(parameter.foundIn ?? {}).flatMap(([operationId, pointer]) => {
      const source = routes.find((other) => other.operationId === operationId);
      const fault = source && pointerFault(pointer, parameter, source);
      return fault ? [`route ${route.path}: parameter "${name}": foundIn.${operationId}: ${fault}`] : [];
    }),
  );

const pointerFault = (pointer: string, { schema }: Parameter, { response }: Route): string | undefined => {
  if (!pointer.startsWith('/')) return `"${pointer}" must be a JSON Pointer, as in /data/0/id`;
  const value = valueAt(response?.example, pointerPath(pointer, response?.example));
  if (value === undefined) return `the example of its answer has nothing at ${pointer}`;
  if (!compileSchema(schema)(value))
    return `${JSON.stringify(value)} at ${pointer} does not fit the parameter's schema`;
  return undefined;
};

/** Whether one route is declared as the contract asks. */
import type { Parameter, Route } from '../contracts/plugin.js';
import { frameworkParameters } from '../http/framework-parameters.js';
import { compileSchema } from '../schema.js';

const TEMPLATE = /^(\/([A-Za-z0-9._-]+|\{[a-z][a-z0-9_]*\}))+$/;
const TYPES = ['string', 'integer', 'number', 'boolean'];

/** The names in braces. */
const templateParameters = (path: string): string[] => [...path.matchAll(/\{([^}]+)\}/g)].map((m) => m[1]!);

/** Two templates of one shape match the same paths. */
export const templateShape = (path: string): string => path.replace(/\{[^}]+\}/g, '{}');

/** Every fault of a route's declaration, each a sentence that names the route. */
export const routeFaults = (route: Route): string[] => {
  const faults: string[] = [];
  const fault = (text: string) => faults.push(`route ${String(route.path)}: ${text}`);
  if (typeof route.path !== 'string' || !TEMPLATE.test(route.path)) {
    fault('path must look like /things/{thing_id}');
    return faults;
  }
  if (route.kind !== 'data' && route.kind !== 'service') fault('kind must be "data" or "service"');
  if (typeof route.handler !== 'function') fault('handler must be a function');
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(route.operationId ?? '')) fault('operationId must be an identifier');
  if (!route.summary) fault('summary is missing');

  const provided = frameworkParameters(route);
  const inPath = templateParameters(route.path);
  const declared = Object.keys(route.parameters?.path ?? {});
  for (const name of inPath) if (!declared.includes(name)) fault(`path parameter "${name}" is not declared`);
  for (const name of declared) if (!inPath.includes(name)) fault(`path parameter "${name}" is not in the path`);
  for (const [name, parameter] of Object.entries({ ...route.parameters?.path, ...route.parameters?.query })) {
    const problem = parameterFault(parameter);
    if (problem) fault(`parameter "${name}": ${problem}`);
    if (Object.hasOwn(provided, name)) fault(`parameter "${name}" is one that the framework adds to such routes`);
  }
  if (!route.response?.schema) fault('response.schema is missing');
  else {
    const problem = compileFault(route.response.schema);
    if (problem) fault(`response.schema: ${problem}`);
  }
  for (const kind of route.errors ?? []) {
    if (kind.status < 400 || kind.status > 499) fault(`error "${kind.code}" must have a 4xx status`);
  }
  return faults;
};

const parameterFault = ({ schema, description }: Parameter): string | undefined => {
  if (!description) return 'description is missing';
  if (!TYPES.includes(schema?.['type'] as string)) return `schema.type must be one of ${TYPES.join(', ')}`;
  return compileFault(schema);
};

const compileFault = (schema: object): string | undefined => {
  try {
    compileSchema(schema);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

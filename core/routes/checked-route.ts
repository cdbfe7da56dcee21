import type { Config } from '../config/schema.js';
import type { DataRoute, Route, ServiceRoute, StreamedList } from '../contracts/plugin.js';
import type { Logger } from '../contracts/runtime.js';
import { ApiError, errors } from '../errors.js';
import { jsonOf, ResponseError } from '../response/formats.js';
import { compileSchema, type ErrorObject, type ValidateFunction } from '../validation/compile-schema.js';
import { isStreamed } from './call-handler.js';

/** With `http.responseCheck: sample`, each route checks one in this many responses. */
const SAMPLED_ONE_IN = 100;

/** Checks responses against the schema of their route. Cached responses are not checked again. */
export const checkedRoute = (route: Route, check: Config['http']['responseCheck'], logger: Logger): Route => {
  if (check === 'off') return route;
  const checked = checker(route, check, logger);
  const declared = new Set([...Object.keys(errors), ...(route.errors ?? []).map(({ code }) => code)]);
  const responseOf = async (handle: () => Promise<unknown>): Promise<unknown> => {
    try {
      return await handle();
    } catch (error) {
      if (check !== 'refuse' || !(error instanceof ApiError) || declared.has(error.kind.code)) throw error;
      throw new ResponseError(`the route does not declare the error "${error.kind.code}"`);
    }
  };
  if (route.kind === 'service') {
    const handler: ServiceRoute['handler'] = async (...asked) =>
      checked(await responseOf(() => route.handler(...asked)));
    return { ...route, handler };
  }
  const handler: DataRoute['handler'] = async (...asked) => {
    const response = await responseOf(() => route.handler(...asked));
    return isStreamed(response) ? { data: eachBatch(response.data, checked) } : checked(response);
  };
  return { ...route, handler };
};

async function* eachBatch(batches: StreamedList['data'], checked: (response: unknown) => unknown) {
  for await (const batch of batches) yield (checked({ data: batch }) as { data: readonly object[] }).data;
}

const checker = (
  { operationId, response: { schema } }: Route,
  check: Exclude<Config['http']['responseCheck'], 'off'>,
  logger: Logger,
) => {
  let validate: ValidateFunction | undefined;
  let seen = 0;
  const logged = new Set<string>();
  return (response: unknown): unknown => {
    if (check === 'sample' && seen++ % SAMPLED_ONE_IN !== 0) return response;
    validate ??= compileSchema(schema, check === 'cut' ? { removeAdditional: true } : {});
    // The response is checked as clients see it, because JSON omits undefined properties and turns dates into text.
    const sent: unknown = JSON.parse(jsonOf(response));
    if (validate(sent)) return check === 'cut' ? sent : response;
    const problem = `it does not conform to its schema: ${validate.errors!.slice(0, 3).map(described).join(', ')}`;
    if (check === 'refuse') throw new ResponseError(problem);
    // Many rows of a list can have the same problem, so each problem is logged once and without the row number.
    const kind = problem.replaceAll(/\/\d+/g, '/*');
    if (!logged.has(kind)) {
      logged.add(kind);
      logger.warn({ operationId, problem }, 'a response does not conform to its schema');
    }
    return check === 'cut' ? sent : response;
  };
};

const described = ({ instancePath, message, params }: ErrorObject): string => {
  const extra = (params['additionalProperty'] ?? params['unevaluatedProperty']) as string | undefined;
  return `${instancePath || 'the whole'} ${extra === undefined ? message : `has the undeclared property "${extra}"`}`;
};

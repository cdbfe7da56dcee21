/** Links (OpenAPI 3.1, section 4.8.20): which operation can be asked next, with what from an answer. */
import type { Route } from '../contracts/plugin.js';

/** The links from the answer of one route to those whose required parameters can all be found in it, by operationId. */
export const linksFrom = (source: Route, routes: readonly Route[]): Record<string, object> =>
  Object.fromEntries(
    routes.flatMap((route) => {
      const parameters = foundParameters(source, route);
      if (route.operationId === source.operationId || !parameters) return [];
      const { operationId, summary } = route;
      return [[operationId, { operationId, description: summary, parameters }]];
    }),
  );

/** Runtime expressions by name of the parameter; undefined where there are none, or a required one is missing. */
const foundParameters = ({ operationId }: Route, { parameters }: Route): Record<string, string> | undefined => {
  const found: Record<string, string> = {};
  for (const place of ['path', 'query'] as const) {
    for (const [name, { foundIn = {}, required }] of Object.entries(parameters?.[place] ?? {})) {
      if (Object.hasOwn(foundIn, operationId)) found[name] = `$response.body#${foundIn[operationId]}`;
      else if (place === 'path' || required) return undefined;
    }
  }
  return Object.keys(found).length > 0 ? found : undefined;
};

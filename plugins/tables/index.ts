import { type Collection, definePlugin, OperatorError, readDeclarations, version } from 'metro-forecast-api/plugin';
import { TABLES } from './paths.js';
import { tableRoutes } from './routes.js';

export default definePlugin({
  name: TABLES,
  version,
  description: 'Tables: lists of rows with filters, sorting and paging, and single rows by key.',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        description:
          'A directory with files NAME.collection.json, such as a dataset that `import-table` wrote. Every collection declared there is served.',
      },
      collections: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        uniqueItems: true,
        description: 'Names of collections from other plugins to serve as well. Their schemas must have `examples`.',
      },
    },
  },
  collections({ path, collections }, { resolvePath }) {
    if (path !== undefined) return readDeclarations(resolvePath(path));
    if (collections?.length) return [];
    throw new OperatorError('no tables are configured: set the option "path" or "collections"');
  },
  routes({ collections: named = [] }, { collections, ownCollections }) {
    const others = named.map((name): Collection => {
      const found = collections.get(name);
      if (found) return found;
      const known = [...collections.keys()].join(', ') || 'none';
      throw new OperatorError(`no plugin declares a collection "${name}"; available: ${known}`);
    });
    return [...new Set([...ownCollections, ...others])].flatMap(tableRoutes);
  },
});

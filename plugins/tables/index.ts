/** Serves the rows of collections without any code. Filters, sorting and paging follow from the declared orders. */
import { type Collection, definePlugin, OperatorError, readDeclarations, version } from 'metro-forecast-api/plugin';
import { tableRoutes } from './routes.js';

export default definePlugin({
  name: 'tables',
  version,
  description: 'The rows of tables: lists with filters, sorting and pages, and single rows by their key.',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        description:
          'A directory whose files NAME.collection.json declare collections, such as a dataset that `import-table` wrote. All of them are served.',
      },
      collections: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        uniqueItems: true,
        description: 'Names of collections of other plugins to serve too. Their schemas must have `examples`.',
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
      throw new OperatorError(`no plugin declares a collection "${name}"; there are: ${known}`);
    });
    return [...new Set([...ownCollections, ...others])].flatMap(tableRoutes);
  },
});

import { expect } from 'chai';
import type { Mount, Plugin, Route } from '../../../core/contracts/plugin.js';
import type { OperatorError } from '../../../core/errors.js';
import { openObservers } from '../../../core/observe/request-observers.js';
import { keptLogger } from '../../support/kept-logger.js';
import { registerPlugins } from '../../support/register-plugins.js';

const things = {
  kind: 'data',
  path: '/things',
  operationId: 'listThings',
  summary: 'Things',
  response: { description: 'All.', schema: { type: 'object', required: ['data'] }, example: { data: [] } },
  handler: async () => ({ data: [] }),
};
const limit = { description: 'How many.', schema: { type: 'integer', minimum: 1, maximum: 9 } };
const mount = { path: '/page', summary: 'A page', handler: () => undefined };

/** Plugins can be written in JavaScript, so the declaration has no type. */
const plugin = (more: object): Plugin =>
  ({ kind: 'plugin', name: 'mine', version: '1.0.0', description: 'Mine.', routes: () => [], ...more }) as Plugin;
const withRoute = (more: object): Plugin => plugin({ routes: () => [{ ...things, ...more }] as Route[] });
const withMount = (more: object): Plugin => plugin({ mounts: () => [{ ...mount, ...more }] as Mount[] });

const errorsOf = (declared: Plugin): readonly string[] => {
  try {
    registerPlugins([{ plugin: declared, options: {}, at: 'plugins[0]' }]);
  } catch (error) {
    return (error as OperatorError).errors;
  }
  return [];
};

describe('declarations of plugins', () => {
  const wrong: readonly (readonly [what: string, declared: Plugin, ...says: string[]])[] = [
    [
      'an example that lacks a property',
      withRoute({ response: { ...things.response, example: {} } }),
      '/things',
      'response.example',
      "'data'",
    ],
    [
      'an absent example',
      withRoute({ response: { ...things.response, example: undefined } }),
      '/things',
      'response.example',
    ],
    [
      'an example inside a schema',
      withRoute({
        response: {
          ...things.response,
          schema: { type: 'object', properties: { a: { type: 'string', example: 1 } } },
          example: {},
        },
      }),
      'response.schema.properties.a.example',
    ],
    [
      'an example of a parameter',
      withRoute({ parameters: { query: { limit: { ...limit, example: 10 } } } }),
      '/things',
      '"limit"',
      'example: 10',
    ],
    [
      'a default out of bounds',
      withRoute({ parameters: { query: { limit: { ...limit, schema: { ...limit.schema, default: 0 } } } } }),
      '"limit"',
      'schema.default: 0',
    ],
    [
      'a default of an option',
      plugin({ options: { type: 'object', properties: { most: { type: 'integer', maximum: 3, default: 4 } } } }),
      'options.properties.most.default: 4',
    ],
    [
      'a misspelt property of a route',
      withRoute({ operationID: 'x', operationId: undefined }),
      '/things',
      '"operationID" is not known; did you mean "operationId"',
    ],
    [
      'a misspelt property of a parameter',
      withRoute({ parameters: { query: { limit: { ...limit, foundin: {} } } } }),
      '"limit"',
      'did you mean "foundIn"',
    ],
    [
      'parameters in an unknown place',
      withRoute({ parameters: { querry: { limit } } }),
      'parameters: "querry" is not known; did you mean "query"',
    ],
    ['a property of the wrong type', withRoute({ key: 'no' }), '/things', '"key" must be a boolean'],
    [
      'a misspelt property of a response',
      withRoute({ response: { ...things.response, header: {} } }),
      'response: "header" is not known; did you mean "headers"',
    ],
    ['columns for a route that is not a list', withRoute({ columns: () => ['a'] }), '/things', 'columns needs a list'],
    [
      'a shared response with a parameter',
      withRoute({ kind: 'service', sharedSeconds: 60, parameters: { path: {}, query: { limit } } }),
      '/things',
      'sharedSeconds needs a route without parameters',
    ],
    ['columns that are not a function', withRoute({ columns: ['a'] }), '"columns" must be a function'],
    ['errors that are not a list', withRoute({ errors: {} }), '"errors" must be a list'],
    ['an invalid error', withRoute({ errors: [undefined] }), 'errors: "code" is missing'],
    ['a misspelt property of a mount', withMount({ method: ['POST'] }), '/page', 'did you mean "methods"'],
    ['a mount without a handler', withMount({ handler: undefined }), '/page', '"handler" is missing'],
    ['a mount with an unknown kind of page', withMount({ page: 'guides' }), '/page', 'page must be "main", "guide" or'],
    ['an invalid method', withMount({ methods: ['FETCH'] }), '/page', '"FETCH"'],
    [
      'routes that return a promise',
      plugin({ routes: async () => [] }),
      'routes must return a list',
      'must not be async',
    ],
    ['routes that return an object', plugin({ routes: () => ({}) }), 'routes must return a list'],
    ['an invalid route', plugin({ routes: () => [undefined] }), 'dataRoute or serviceRoute'],
    [
      'mounts that return a promise',
      plugin({ mounts: async () => [] }),
      'mounts must return a list',
      'must not be async',
    ],
    [
      'middleware that is a single function',
      plugin({ middleware: () => () => undefined }),
      'middleware must return a list',
    ],
    ['middleware that is not a function', plugin({ middleware: () => ['x'] }), 'middleware[0] must be a function'],
    [
      'middleware around the service that is not a list',
      plugin({ serviceMiddleware: () => () => undefined }),
      'serviceMiddleware must return a list',
    ],
    [
      'functions that throw a value that is not an error',
      plugin({
        mounts: () => {
          throw 'a text';
        },
      }),
      'mounts failed: a text',
    ],
  ];
  for (const [what, declared, ...says] of wrong) {
    it(`rejects ${what}`, () => {
      const errors = errorsOf(declared);
      expect(
        errors.some((error) => error.includes('plugin "mine"') && says.every((text) => error.includes(text))),
        errors.join('\n'),
      ).to.equal(true);
    });
  }

  it('reports all errors together', () => {
    const errors = errorsOf(
      plugin({
        routes: () => [
          {
            ...things,
            summary: undefined,
            parameters: { query: { limit: { ...limit, example: 'x' } } },
            response: { ...things.response, example: {} },
          },
        ],
        middleware: async () => [],
        mounts: () => [{ ...mount, methods: ['FETCH'] }],
      }),
    );
    for (const text of ['"summary"', '"limit"', 'response.example', 'middleware', 'FETCH']) {
      expect(errors.join('\n')).to.contain(text);
    }
  });

  for (const [what, open, says] of [
    [
      'throws',
      () => {
        throw new Error('no collector');
      },
      'no collector',
    ],
    ['is a promise', async () => ({ onRequest: () => undefined }), 'must not be async'],
    ['has no onRequest', () => ({}), 'a function "onRequest"'],
  ] as const) {
    it(`names the plugin whose observer ${what}`, () => {
      const logger = keptLogger();
      const loaded = [{ plugin: plugin({ observer: open }), options: {}, at: 'plugins[0]' }];
      expect(() => openObservers(loaded, { logger, clock: Date, info: {} as never }))
        .to.throw(/"mine"/)
        .and.to.have.property('message')
        .that.contains(says);
    });
  }
});

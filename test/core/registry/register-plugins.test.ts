import { expect } from 'chai';
import { collection, dataRoute, definePlugin, type Plugin, type Route } from '../../../core/contracts/plugin.js';
import { defineError, type OperatorError } from '../../../core/errors.js';
import { registerPlugins } from '../../support/register-plugins.js';

const route = (path: string, operationId: string, more: object = {}): Route =>
  dataRoute({
    path,
    operationId,
    summary: 'A route',
    response: { description: 'An answer', schema: { type: 'object' }, example: {} },
    handler: async () => ({}),
    ...more,
  });

const plugin = (name: string, more: Partial<Plugin> = {}): Plugin =>
  definePlugin({ name, version: '1.0.0', description: name, routes: () => [], ...more });

const errorsOf = (...plugins: Plugin[]): readonly string[] => {
  try {
    registerPlugins(plugins.map((each, index) => ({ plugin: each, options: {}, at: `plugins[${index}]` })));
  } catch (error) {
    return (error as OperatorError).errors;
  }
  return [];
};

describe('registerPlugins', () => {
  it('collects routes, collections and errors', () => {
    const things = collection({
      name: 'things',
      key: ['id'],
      schema: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
    });
    const gone = defineError({ code: 'thing_gone', status: 410, sentence: 'It is gone.', when: 'Gone.' });
    const registry = registerPlugins([
      {
        plugin: plugin('a', {
          collections: [things],
          routes: () => [route('/things', 'listThings', { errors: [gone] })],
        }),
        options: {},
        at: 'plugins[0]',
      },
      { plugin: plugin('b', { needs: ['a'], collections: [things] }), options: {}, at: 'plugins[1]' },
    ]);
    expect(registry.routes.map(({ route: { path } }) => path)).to.deep.equal(['/things']);
    expect(registry.collections.get('things')).to.equal(things);
    expect(registry.errors.get('thing_gone')).to.equal(gone);
    expect(registry.errors.get('rate_limited')?.status).to.equal(429);
  });

  it('rejects a duplicate route, naming both plugins, even under a different parameter name', () => {
    const errors = errorsOf(
      plugin('a', {
        routes: () => [
          route('/x/{id}', 'one', { parameters: { path: { id: { description: 'd', schema: { type: 'string' } } } } }),
        ],
      }),
      plugin('b', {
        routes: () => [
          route('/x/{key}', 'two', { parameters: { path: { key: { description: 'd', schema: { type: 'string' } } } } }),
        ],
      }),
    );
    expect(errors).to.deep.equal(['plugin "b" 1.0.0 and plugin "a" 1.0.0 both declare route /x/{key}']);
  });

  it('rejects a duplicate operationId, naming both plugins', () => {
    const errors = errorsOf(
      plugin('a', { routes: () => [route('/x', 'same')] }),
      plugin('b', { routes: () => [route('/y', 'same')] }),
    );
    expect(errors).to.deep.equal(['plugin "b" 1.0.0 and plugin "a" 1.0.0 both declare operationId "same"']);
  });

  it('prefers the service info from the configuration, then from a plugin, then from the framework', () => {
    const named = plugin('a', { info: { title: 'Tides', name: 'tides' } });
    const { info } = registerPlugins([{ plugin: named, options: {}, at: 'plugins[0]' }], { title: 'Our tides' });
    expect(info).to.include({ title: 'Our tides', name: 'tides', version: '1.0.0', keyPrefix: 'api_' });
  });

  it('rejects two plugins that declare service info, naming both', () => {
    const errors = errorsOf(plugin('a', { info: { title: 'A' } }), plugin('b', { info: { title: 'B' } }));
    expect(errors).to.deep.equal(['plugin "b" 1.0.0 and plugin "a" 1.0.0 both declare info']);
  });

  it('validates the service info of a plugin with the configuration schema', () => {
    const errors = errorsOf(plugin('a', { info: { keyPrefix: 'no underscore' } }));
    expect(errors).to.have.length(1);
    expect(errors[0]).to.match(/^plugin "a" 1\.0\.0: info\.keyPrefix: "no underscore" is not allowed; /);
  });

  it('rejects duplicate component ids, and replacements of unknown components, naming the plugins', () => {
    const check = () => ({ status: 'operational', message: null, updated_at: null }) as const;
    expect(
      errorsOf(
        plugin('a', {
          components: [
            { id: 'api', check },
            { id: 'disk', check },
            { id: 'x', replaces: 'storage', check },
          ],
        }),
        plugin('b', {
          components: [
            { id: 'disk', check },
            { id: 'y', replaces: 'storage', check },
          ],
        }),
        plugin('c', { components: [{ id: 'z', replaces: 'strage' as 'storage', check }] }),
      ),
    ).to.deep.equal([
      'plugin "a" 1.0.0: component "api": the framework has a component with this id; to replace it, use a different id and set replaces',
      'plugin "b" 1.0.0 and plugin "a" 1.0.0 both declare component "disk"',
      'plugin "b" 1.0.0 and plugin "a" 1.0.0 both declare a replacement for component "storage"',
      'plugin "c" 1.0.0: component "z": cannot replace "strage", only "api" and "storage"',
    ]);
  });

  it('rejects a parameter whose link value is not in the example, naming route, parameter and pointer', () => {
    const linked = (foundIn: Record<string, string>) =>
      errorsOf(
        plugin('a', {
          routes: () => [
            route('/things', 'listThings', {
              response: { description: 'd', schema: { type: 'object' }, example: { data: [{ id: 'x', size: 3 }] } },
            }),
          ],
        }),
        plugin('b', {
          routes: () => [
            route('/things/{id}', 'getThing', {
              parameters: { path: { id: { description: 'd', schema: { type: 'string' }, foundIn } } },
            }),
          ],
        }),
      );
    const error = (text: string) => `plugin "b" 1.0.0: route /things/{id}: parameter "id": foundIn.listThings: ${text}`;
    expect(linked({ listThings: '/data/0/id', listOthers: '/data/0/id' })).to.deep.equal([]);
    expect(linked({ listThings: '/data/0/name' })).to.deep.equal([
      error('the example of its response has nothing at /data/0/name'),
    ]);
    expect(linked({ listThings: '/data/0/size' })).to.deep.equal([
      error("3 at /data/0/size does not conform to the parameter's schema"),
    ]);
    expect(linked({ listThings: 'data/0/id' })).to.deep.equal([
      error('"data/0/id" must be a JSON Pointer, such as /data/0/id'),
    ]);
  });

  it('rejects a missing dependency, naming both sides and the nearest loaded name', () => {
    const [error] = errorsOf(plugin('markets'), plugin('b', { needs: ['market'] }));
    expect(error).to.contain('plugins[1]: plugin "b"').and.contain('"market"').and.contain('"markets"');
  });

  it('rejects a plugin that is loaded twice, naming both places', () => {
    const [error] = errorsOf(plugin('a'), plugin('a'));
    expect(error).to.contain('plugins[1]').and.contain('plugins[0]');
  });

  it('rejects different declarations of one collection, naming both plugins', () => {
    const declare = (type: string) =>
      collection({
        name: 'things',
        key: ['id'],
        schema: { type: 'object', required: ['id'], properties: { id: { type } } },
      });
    const [error] = errorsOf(
      plugin('a', { collections: [declare('string')] }),
      plugin('b', { collections: [declare('integer')] }),
    );
    expect(error).to.contain('plugin "b"').and.contain('plugin "a"').and.contain('"things"');
  });

  it('rejects a collection that refers to an undeclared collection', () => {
    const things = collection({
      name: 'things',
      key: ['id'],
      references: [{ fields: ['id'], to: 'others' }],
      schema: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
    });
    expect(errorsOf(plugin('a', { collections: [things] }))).to.deep.equal([
      'plugin "a" 1.0.0: collection "things" refers to the collection "others", which no plugin declares',
    ]);
  });

  it('rejects a collection that adapters could not sort', () => {
    const things = collection({
      name: 'things',
      key: ['id'],
      schema: { type: 'object', properties: { id: { type: 'object' } } },
    });
    expect(errorsOf(plugin('a', { collections: [things] })).join())
      .to.contain('plugin "a"')
      .and.contain('things');
  });

  it('rejects an error with the code of a framework error and another status', () => {
    const clash = defineError({ code: 'rate_limited', status: 418, sentence: 's', when: 'w' });
    const [error] = errorsOf(plugin('a', { routes: () => [route('/x', 'x', { errors: [clash] })] }));
    expect(error).to.contain('rate_limited').and.contain('the framework');
  });

  const wrong: readonly (readonly [what: string, route: Route, says: string])[] = [
    ['a path without a slash', route('x', 'x'), 'path must look like'],
    ['a path with a star', route('/x/*', 'x'), 'path must look like'],
    ['an undeclared path parameter', route('/x/{id}', 'x'), 'path parameter "id" is not declared'],
    [
      'a parameter that is not in the path',
      route('/x', 'x', { parameters: { path: { id: { description: 'd', schema: { type: 'string' } } } } }),
      'path parameter "id" is not in the path',
    ],
    [
      'a parameter in the path and in the query',
      route('/x/{id}', 'x', {
        parameters: {
          path: { id: { description: 'd', schema: { type: 'string' } } },
          query: { id: { description: 'd', schema: { type: 'string' } } },
        },
      }),
      'parameter "id" is in the path and in the query',
    ],
    [
      'a parameter of type object',
      route('/x', 'x', { parameters: { query: { q: { description: 'd', schema: { type: 'object' } } } } }),
      'schema.type must be one of',
    ],
    [
      'a schema that does not compile',
      route('/x', 'x', { response: { description: 'd', schema: { type: 'nonsense' }, example: {} } }),
      'response.schema',
    ],
    ['no handler', route('/x', 'x', { handler: undefined }), '"handler" is missing'],
    ['no summary', route('/x', 'x', { summary: '' }), 'summary is missing'],
    [
      'an error with a 5xx status',
      route('/x', 'x', { errors: [defineError({ code: 'e', status: 500, sentence: 's', when: 'w' })] }),
      'must have a 4xx status',
    ],
  ];
  for (const [what, declared, says] of wrong) {
    it(`rejects a route with ${what}`, () => {
      expect(errorsOf(plugin('a', { routes: () => [declared] })).join('\n'))
        .to.contain('plugin "a"')
        .and.contain(says);
    });
  }

  it('rejects a security scheme without identity, or of an unknown type', () => {
    const errors = errorsOf(plugin('a', { securityScheme: { type: 'bearer' } })).join('\n');
    expect(errors).to.contain('"securityScheme" needs "identity"').and.contain('"securityScheme.type" must be one of');
  });

  it('names the plugin whose routes() throws', () => {
    const broken = plugin('a', {
      routes: () => {
        throw new Error('no luck');
      },
    });
    expect(errorsOf(broken)[0]).to.contain('plugin "a"').and.contain('no luck');
  });

  it('reports all errors together', () => {
    const errors = errorsOf(
      plugin('a', { needs: ['x'], routes: () => [route('nope', 'x')] }),
      plugin('b', { needs: ['y'] }),
    );
    expect(errors).to.have.length(3);
  });
});

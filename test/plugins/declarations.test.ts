import { usagePlugin } from '../../core/limiter/usage-plugin.js';
import { openApiPlugin } from '../../core/openapi/plugin.js';
import { assertSchema } from '../../core/validation/compile-schema.js';
import { adapters, keyStores, plugins } from '../../product.js';
import { registerPlugins } from '../support/register-plugins.js';

interface Loaded {
  readonly default: { readonly options?: object };
}

describe('the declarations of the built-in plugins', () => {
  it('pass the checks that the service skips for these plugins at startup', async () => {
    const loaded = await Promise.all(Object.values(plugins).map(async (load) => (await load()).default));
    const skipped = [
      usagePlugin,
      openApiPlugin(async () => ({})),
      ...loaded.filter(({ options }) => options === undefined),
    ];
    const entries = skipped.map((plugin) => ({ plugin, options: {}, at: plugin.name }));
    registerPlugins(entries, undefined, undefined, ['tables']);
  });

  it('and the options of all built-in modules have valid schemas', async () => {
    const modules = [adapters, keyStores, plugins].flatMap((builtins) =>
      Object.values<() => Promise<Loaded>>(builtins),
    );
    for (const load of modules) assertSchema((await load()).default.options ?? {});
  });
});

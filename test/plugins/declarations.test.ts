import { usagePlugin } from '../../core/limiter/usage-plugin.js';
import { plugins } from '../../product.js';
import { registerPlugins } from '../support/register-plugins.js';

describe('the declarations of the built-in plugins', () => {
  it('pass the checks that the service skips for these plugins at startup', async () => {
    const loaded = await Promise.all(Object.values(plugins).map(async (load) => (await load()).default));
    const skipped = [usagePlugin, ...loaded.filter(({ options }) => options === undefined)];
    const entries = skipped.map((plugin) => ({ plugin, options: {}, at: plugin.name }));
    registerPlugins(entries, undefined, undefined, ['tables']);
  });
});

import { startTestApp, type TestApp } from '../../support/test-app.js';

export const PLUGINS = ['markets', 'forecasts', 'observations', 'signals', 'status', 'docs', 'explore'];

export const open = (tier: object = {}) => ({
  auth: { keys: { use: 'memory' }, tiers: { public: tier, enterprise: {} }, anonymous: 'public' },
});

/** Starts the service twice. The first start finds a free port. The second start uses this port in its public URL. */
export const startPublic = async (more: object): Promise<TestApp> => {
  const config = { plugins: [...PLUGINS, 'vintages'], ...open(), ...more };
  const first = await startTestApp({ config });
  const port = Number(new URL(first.origin).port);
  await first.close();
  return startTestApp({ config: { ...config, server: { port, publicUrl: first.origin } } });
};

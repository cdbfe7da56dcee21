import { startTestApp, type TestApp } from '../../support/test-app.js';

export const PLUGINS = ['markets', 'forecasts', 'observations', 'signals', 'status', 'docs', 'explore'];

export const open = (tier: object = {}) => ({
  auth: { keys: { use: 'memory' }, tiers: { public: tier, enterprise: {} }, anonymous: 'public' },
});

/** The service is restarted, because its public URL contains the free port of the first start. */
export const startPublic = async (more: object): Promise<TestApp> => {
  const config = { plugins: [...PLUGINS, 'vintages'], ...open(), ...more };
  const first = await startTestApp({ config });
  const port = Number(new URL(first.origin).port);
  await first.close();
  return startTestApp({ config: { ...config, server: { port, publicUrl: first.origin } } });
};

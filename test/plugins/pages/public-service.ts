/** Starts a service whose callers need no key and whose public URL is its own address. */
import { startTestApp, type TestApp } from '../../support/test-app.js';

const PLUGINS = ['markets', 'forecasts', 'observations', 'signals', 'vintages', 'status', 'docs', 'explore'];

const anonymous = {
  auth: { keys: { use: 'memory' }, tiers: { public: {}, enterprise: {} }, anonymous: 'public' },
};

/** Starts a service on a free port, and then restarts it with that port in its public URL. */
export const startPublic = async (config: object): Promise<TestApp> => {
  const first = await startTestApp({ config: { plugins: PLUGINS, ...anonymous, ...config } });
  const port = Number(new URL(first.origin).port);
  await first.close();
  return startTestApp({
    config: { plugins: PLUGINS, ...anonymous, ...config, server: { port, publicUrl: first.origin } },
  });
};

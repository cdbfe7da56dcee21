// A CommonJS program that embeds a service.
import api = require('metro-forecast-api');

import type { Plugin } from 'metro-forecast-api/plugin';

export const start = async (plugin: Plugin): Promise<string> => {
  const app = await api.createApp(
    {
      adapter: 'memory',
      plugins: ['status'],
      auth: { keys: 'memory' },
      log: { level: 'silent' },
      http: { responseCheck: 'refuse' },
    },
    { plugins: [{ plugin }] },
  );
  const { body } = await app.inject('/api/v1/openapi.json');
  await app.close();
  return body;
};

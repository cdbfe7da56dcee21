import { partOf } from '../../core/app/create-app.js';
import type { Dataset } from '../../core/contracts/storage.js';
import { mongoForTests, uniqueName } from './services.js';
import type { TestApp } from './test-app.js';

export const otherAdapters: Readonly<Record<string, () => Promise<object>>> = {
  memory: async () => ({ use: 'memory', options: {} }),
  mongo: async () => ({ use: 'mongo', options: { uri: (await mongoForTests()).url, database: uniqueName('other') } }),
  sqlite: async () => ({ use: 'sqlite', options: { path: 'data.db' } }),
};

export const publishTo = async (service: TestApp, dataset: Dataset): Promise<void> => {
  await partOf(service.app, 'adapter').publish!(dataset);
  for (let tries = 0; tries < 200; tries++) {
    const { headers } = await service.get('/markets');
    if (headers['snapshot-version'] === dataset.manifest.version) return;
    await new Promise((next) => setTimeout(next, 25));
  }
  throw new Error(`${dataset.manifest.version} is not served`);
};

import { mkdir } from 'node:fs/promises';
import { writeDirectory } from 'metro-forecast-api/adapter';
import { describeAdapter } from 'metro-forecast-api/conformance';
import json from './json/index.js';

const options = { path: 'dataset', pollMs: 20 };

describeAdapter({
  name: json.name,
  capabilities: json.capabilities,
  async create(dataset, context) {
    const rows = [...context.collections.keys()].map((name) => [name, dataset.read(name)]);
    await writeDirectory(context.resolvePath(options.path), dataset.manifest, Object.fromEntries(rows));
    const adapter = json.create(options, context);
    await adapter.open();
    return adapter;
  },
  async createEmpty(context) {
    await mkdir(context.resolvePath(options.path), { recursive: true });
    return json.create(options, context);
  },
});

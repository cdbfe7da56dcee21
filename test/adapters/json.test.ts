import { mkdir } from 'node:fs/promises';
import { describeAdapter } from '../../adapters/conformance/index.js';
import json from '../../adapters/json/index.js';
import { writeDirectory } from '../../core/data/write-directory.js';

const options = { path: 'dataset', pollMs: 20 };

describeAdapter({
  name: json.name,
  capabilities: json.capabilities,
  async create(dataset, context) {
    const rows = [...context.collections.keys()].map((name) => [name, dataset.read(name)] as const);
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

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeAdapter } from '../../adapters/conformance/index.js';
import json from '../../adapters/json/index.js';
import type { StorageAdapter } from '../../core/contracts/storage.js';
import { MANIFEST_FILE } from '../../core/data/manifest.js';
import { writeDirectory } from '../../core/data/write-directory.js';

const options = { path: 'dataset', pollMs: 20 };

const folders = new WeakMap<StorageAdapter, string>();

describeAdapter({
  name: json.name,
  capabilities: json.capabilities,
  async create(dataset, context) {
    const rows = [...context.collections.keys()].map((name) => [name, dataset.read(name)] as const);
    await writeDirectory(context.resolvePath(options.path), dataset.manifest, Object.fromEntries(rows));
    const adapter = json.create(options, context);
    await adapter.open();
    folders.set(adapter, context.resolvePath(options.path));
    return adapter;
  },
  damage: (adapter) => writeFile(join(folders.get(adapter)!, MANIFEST_FILE), '{'),
  async createEmpty(context) {
    await mkdir(context.resolvePath(options.path), { recursive: true });
    return json.create(options, context);
  },
});

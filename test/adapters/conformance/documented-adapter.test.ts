import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { describeAdapter } from '../../../adapters/conformance/index.js';
import type { AdapterContext, AdapterModule, Dataset, StorageAdapter } from '../../../core/contracts/storage.js';
import { StorageError } from '../../../core/errors.js';
import { packageRoot } from '../../../core/util/package.js';
import { markets } from '../../../plugins/metro/collections.js';
import { snippetsOf } from '../../support/snippets.js';

const { code } = snippetsOf('docs/reference/adapter-contract.md').find((snippet) =>
  snippet.code.includes("kind: 'adapter'"),
)!;
const folder = mkdtempSync(join(tmpdir(), 'documented-adapter-'));
mkdirSync(join(folder, 'node_modules'));
symlinkSync(packageRoot, join(folder, 'node_modules/metro-forecast-api'), 'dir');
writeFileSync(join(folder, 'remote.mjs'), code);
after(() => rmSync(folder, { recursive: true, force: true }));

const { default: remote } = (await import(pathToFileURL(join(folder, 'remote.mjs')).href)) as {
  default: AdapterModule<{ url: string }>;
};
const servers = new WeakMap<StorageAdapter, Server>();

const rowsOf = async (dataset: Dataset, { collections }: AdapterContext) => {
  const rows: Record<string, unknown[]> = {};
  for (const name of collections.keys()) {
    rows[name] = [];
    for await (const batch of dataset.read(name)) rows[name].push(...batch);
  }
  return rows;
};

describeAdapter({
  name: `${remote.name} of the documentation`,
  capabilities: remote.capabilities,
  async create(dataset, context) {
    const body = JSON.stringify({ manifest: dataset.manifest, rows: await rowsOf(dataset, context) });
    const server = createServer((_request, response) => response.end(body)).listen(0, '127.0.0.1');
    await new Promise((listening) => server.once('listening', listening));
    const adapter = remote.create({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }, context);
    await adapter.open();
    servers.set(adapter, server);
    return adapter;
  },
  async cleanup(adapter) {
    servers.get(adapter)?.close();
  },
});

describe('the documented adapter without its backend', () => {
  const answers: Record<string, RequestListener> = {
    'closes the connection': (_request, response) => response.destroy(),
    'is down': (_request, response) => response.writeHead(503).end('down'),
    'sends no JSON': (_request, response) => response.end('<html>'),
    'sends another document': (_request, response) => response.end('[]'),
  };
  for (const [what, answer] of Object.entries(answers)) {
    it(`open rejects with unavailable if it ${what}`, async () => {
      const server = createServer(answer).listen(0, '127.0.0.1');
      await new Promise((listening) => server.once('listening', listening));
      try {
        await isUnavailable(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      } finally {
        server.close();
      }
    });
  }

  it('open rejects with unavailable if the backend is unreachable', () => isUnavailable('http://127.0.0.1:1/'));
});

const isUnavailable = async (url: string): Promise<void> => {
  const collections = new Map([['markets', markets]]);
  const adapter = remote.create({ url }, { collections } as unknown as AdapterContext);
  const error = await adapter.open().catch((thrown: unknown) => thrown);
  expect(error).to.be.instanceOf(StorageError);
  expect((error as StorageError).code).to.equal('unavailable');
  expect(() => adapter.snapshot())
    .to.throw(StorageError)
    .with.property('code', 'unavailable');
  await adapter.close();
};

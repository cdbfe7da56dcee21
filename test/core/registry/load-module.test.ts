import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadModule } from '../../../core/registry/load-module.js';
import { skip } from '../../support/skip.js';

describe('loadModule(kind, use, folder, builtins)', () => {
  it('advises to compile a TypeScript file if Node does not run it', async function () {
    if ((process.features as { typescript?: unknown }).typescript) skip(this, 'this version of Node runs TypeScript');
    const folder = await mkdtemp(join(tmpdir(), 'load-module-'));
    try {
      await writeFile(join(folder, 'plugin.ts'), 'export default {};\n');
      const error: unknown = await loadModule('plugin', './plugin.ts', folder, {}).catch((cause: unknown) => cause);
      expect((error as Error).message).to.equal(
        'plugin "./plugin.ts" cannot be loaded: this version of Node does not run TypeScript; ' +
          'compile the file and name the .js file, or use Node 22.18 or later',
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

/** Tests that the limiter in docs/guides/embedding.md runs. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';
import { snippetsOf } from '../support/snippets.js';

const run = promisify(execFile);

describe('docs/guides/embedding.md', () => {
  it('its limiter decides a request', async function () {
    this.timeout(30_000);
    const snippet = snippetsOf('docs/guides/embedding.md').find(({ heading }) => heading === 'Write a limiter');
    const folder = await mkdtemp(join(tmpdir(), 'embedding-'));
    try {
      await mkdir(join(folder, 'node_modules'));
      await symlink(packageRoot, join(folder, 'node_modules/metro-forecast-api'), 'dir');
      await writeFile(join(folder, 'program.mjs'), snippet!.code);
      const { stdout } = await run(process.execPath, ['program.mjs'], { cwd: folder });
      expect(stdout).to.match(/^401 "default";r=\d+;t=\d+$/m);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

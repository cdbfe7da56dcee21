import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { register } from '../../../cli/commands/reload.js';
import { runCommand } from '../../support/run-command.js';

describe('metro-forecast reload', () => {
  it('mentions that the service may still be starting if it has not written its file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reload-'));
    try {
      const { error } = await runCommand(register, ['reload'], { RUNTIME_DIRECTORY: folder });
      expect(error?.message)
        .to.contain(`There is no ${join(folder, 'service.json')}.`)
        .and.contain('still starting');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';
import { runCommandLine } from '../support/command-process.js';

const HOSTILE = '\u001b[2J\u202e\u009bx';
const UNSAFE = /[^\P{Cc}\n\t]|\p{Bidi_Control}/u;

describe('the output of commands', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'printable-'));
    await mkdir(join(folder, HOSTILE));
    await writeFile(join(folder, `${HOSTILE}.json`), '{');
    await writeFile(
      join(folder, 'api.json'),
      JSON.stringify({
        adapter: { use: 'json', options: { path: HOSTILE } },
        plugins: ['markets'],
        auth: { keys: { use: 'file', options: { path: 'keys.json' } } },
        server: { port: 0 },
      }),
    );
    const key = {
      id: `key_${HOSTILE}`,
      hash: '0'.repeat(64),
      name: `A\n${HOSTILE}`,
      tier: 'enterprise',
      limit_per_minute: null,
      created_at: '2026-01-01T00:00:00.000Z',
      expires_at: null,
      revoked_at: null,
    };
    await writeFile(join(folder, 'keys.json'), JSON.stringify({ format: 1, keys: [key] }));
  });
  after(() => rm(folder, { recursive: true }));

  const config = () => ['--config', join(folder, 'api.json')];
  const runs: [name: string, args: () => string[]][] = [
    ['a configuration that is not JSON', () => ['--config', join(folder, `${HOSTILE}.json`), 'config']],
    ['a file that does not exist', () => ['validate', HOSTILE]],
    ['an unknown command', () => [HOSTILE]],
    ['an unknown option, as JSON', () => ['config', `--${HOSTILE}`, '--json']],
    ['a wrong value', () => ['snapshots', 'prune', '--keep', HOSTILE]],
    ['the configuration', () => [...config(), 'config']],
    ['a table of keys', () => [...config(), 'keys', 'list']],
    ['keys as JSON', () => [...config(), 'keys', 'list', '--json']],
    ['the id of a key', () => [...config(), 'keys', 'revoke', HOSTILE]],
    ['the findings of doctor', () => [...config(), 'doctor']],
    ['an error of start', () => ['--config', join(folder, `${HOSTILE}.json`), 'start']],
    ['the name of a package', () => ['new', 'plugin', HOSTILE]],
  ];
  for (const [name, args] of runs) {
    it(`escapes control characters in ${name}`, async () => {
      const { output } = await runCommandLine(args());
      expect(output).to.include('\\u001b[2J');
      expect(output).not.to.match(UNSAFE);
    });
  }

  it('is written only by output.ts', async () => {
    const files = (await readdir(join(packageRoot, 'cli'), { recursive: true })).filter(
      (file) => file.endsWith('.ts') && file !== 'output.ts',
    );
    for (const file of files) {
      const source = await readFile(join(packageRoot, 'cli', file), 'utf8');
      expect(source, file).not.to.match(/process\.std(out|err)\.write|console\./);
    }
  });
});

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CommanderError } from 'commander';
import { register } from '../../../cli/commands/import.js';
import { OperatorError } from '../../../core/errors.js';
import { runCommand } from '../../support/run-command.js';

const METRO = '"A, TX",10000,2024,1,100.00,( 1.00)\r\n"B, TX",20000,2024,1,-,-\r\n';
const BAD = '"C, TX",3,2024,1,100.00,( 1.00)\r\n';

describe('metro-forecast import', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'import-'));
    await writeFile(join(folder, 'hpi.csv'), METRO);
    await writeFile(join(folder, 'next.csv'), METRO.replace('20000', '20001') + BAD);
    await writeFile(join(folder, 'notes.txt'), 'x');
  });
  after(() => rm(folder, { recursive: true }));

  const run = async (...argv: string[]) => {
    const { error, ...output } = await runCommand(register, ['import', ...argv]);
    if (error) throw error;
    return output;
  };
  const thrown = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  it('prints the imported, skipped and dropped rows, and the next steps', async () => {
    const to = join(folder, 'said');
    await run(join(folder, 'hpi.csv'), '--to', to);
    const { stdout, stderr } = await run(join(folder, 'next.csv'), '--to', to, '--skip-bad-rows');
    expect(stdout).to.match(/said is now version 2024-05-28-[0-9a-f]{12}, vintage 2024-05-28\.\n/);
    expect(stdout).to.include('metro_hpi: 2 markets, 1 value');
    expect(stdout).to.match(/Skipped, 1 bad row:\n {2}- .*next\.csv:3: the code must be 5 digits, but is "3"/);
    expect(stdout).to.include('- markets that the new index lacks (1): 20000');
    expect(stdout).to.include(`Next: metro-forecast forecast ${to}`);
    expect(stderr).to.include('reading next.csv: 96 bytes\n').and.to.include('writing hpi: 1 row\n');
  });

  it('prints one JSON document with --json, and is reproducible with --created', async () => {
    const argv = ['--json', '--created', '2026-03-01T12:00:00Z', '--vintage', '2024-05-28'];
    const report = async (name: string) => {
      const to = join(folder, name);
      const { stdout } = await run(join(folder, 'hpi.csv'), '--to', to, ...argv);
      return { ...JSON.parse(stdout), manifest: await readFile(join(to, 'manifest.json'), 'utf8') };
    };
    const [one, two] = [await report('one'), await report('two')];
    expect(one).to.deep.include({ vintage: '2024-05-28', index: { markets: 2, values: 1 }, badRows: 0, ignored: [] });
    expect(one.manifest).to.equal(two.manifest);
  });

  it('reports operator errors, and changes nothing', async () => {
    const error = await thrown(run(join(folder, 'next.csv'), '--to', join(folder, 'none')));
    expect(error).to.be.instanceOf(OperatorError);
    expect((error as Error).message)
      .to.include('next.csv:3:')
      .and.to.include('--skip-bad-rows');
    expect(await thrown(readFile(join(folder, 'none', 'manifest.json')))).to.have.property('code', 'ENOENT');
  });

  for (const [what, argv] of [
    ['no source', ['--to', 'x']],
    ['no directory', ['hpi.csv']],
    ['a vintage that the calendar lacks', ['hpi.csv', '--to', 'x', '--vintage', '2025-02-30']],
    ['a time without zone', ['hpi.csv', '--to', 'x', '--created', '2025-02-20T10:00:00']],
    ['an unknown option', ['hpi.csv', '--to', 'x', '--skip-bad']],
  ] as const) {
    it(`${what} is wrong usage`, async () => {
      expect(await thrown(run(...argv))).to.be.instanceOf(CommanderError);
    });
  }
});

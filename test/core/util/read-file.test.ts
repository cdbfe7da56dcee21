import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { register as registerKeys } from '../../../cli/commands/keys.js';
import { register as registerValidate } from '../../../cli/commands/validate.js';
import { partOf } from '../../../core/app/create-app.js';
import type { OperatorError } from '../../../core/errors.js';
import { fileErrorReason } from '../../../core/util/error-reason.js';
import { readRegular, readRegularBytes, readRegularSync } from '../../../core/util/read-file.js';
import { loadConfig } from '../../../product.js';
import { runCommand } from '../../support/run-command.js';
import { skip } from '../../support/skip.js';
import { startTestApp } from '../../support/test-app.js';
import { until } from '../../support/until.js';

const NO_FILE = /it is a pipe, a socket or a device; name a regular file/;

const rejection = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.fail('The read did not fail.'),
    (error: Error) => error,
  );

describe('readRegular(path)', () => {
  let folder: string;
  let server: Server;
  const at = (name: string): string => join(folder, name);
  const makePipe = (path: string): void => void execFileSync('mkfifo', [path]);

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'regular-'));
    await writeFile(at('file'), 'text');
    await symlink(at('file'), at('link to a file'));
    makePipe(at('pipe'));
    await symlink(at('pipe'), at('link to a pipe'));
    await symlink('/dev/zero', at('link to a device'));
    server = createServer();
    await new Promise<void>((resolve) => server.listen(at('socket'), resolve));
    await mkdir(at('folder'));
    await writeFile(at('file in UTF-16'), '\ufefftext', 'utf16le');
    await writeFile(at('file in Latin-1'), 'Zoë', 'latin1');
    await symlink(at('circle'), at('circle'));
  });
  after(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  it('reads regular files, including through links', async () => {
    expect(await readRegular(at('file'))).to.equal('text');
    expect(await readRegular(at('link to a file'))).to.equal('text');
  });

  for (const [name, reason] of [
    ['pipe', NO_FILE],
    ['link to a pipe', NO_FILE],
    ['link to a device', NO_FILE],
    ['socket', NO_FILE],
    ['folder', /it is a folder; name a file in it/],
    ['circle', /its symbolic links form a loop/],
    ['nothing', /it does not exist/],
    ['file in UTF-16', /it is not in UTF-8; save it in UTF-8/],
    ['file in Latin-1', /it is not in UTF-8; save it in UTF-8/],
  ] as const) {
    it(`rejects a ${name}`, async () => {
      expect(fileErrorReason(await rejection(readRegular(at(name))))).to.match(reason);
    });
  }

  const readers: [name: string, read: (path: string, maxBytes?: number) => Promise<string>][] = [
    ['readRegular', readRegular],
    ['readRegularBytes', async (path, maxBytes) => String(await readRegularBytes(path, maxBytes))],
    ['readRegularSync', async (path, maxBytes) => readRegularSync(path, maxBytes)],
  ];
  for (const [name, read] of readers) {
    it(`${name} rejects a file above its limit, and reads one at the limit`, async () => {
      await writeFile(at('large'), 'x'.repeat(3 * 2 ** 20));
      expect(await read(at('large'), 3 * 2 ** 20)).to.have.length(3 * 2 ** 20);
      const error = await rejection(read(at('large'), 2 * 2 ** 20));
      expect(fileErrorReason(error)).to.equal('it is larger than 2 MiB');
    });

    it(`${name} rejects a pipe`, async () => {
      expect(fileErrorReason(await rejection(read(at('pipe'))))).to.match(NO_FILE);
    });
  }

  it('limits files with a reported size of 0, as in /proc', async function () {
    if (process.platform !== 'linux') skip(this, 'needs /proc');
    expect(await readRegular('/proc/self/status')).to.match(/^Name:/);
    expect(fileErrorReason(await rejection(readRegular('/proc/self/status', 100)))).to.equal(
      'it is larger than 100 bytes',
    );
  });

  it('a file named by a variable must be a regular file of at most 1 MiB', async () => {
    const load = (path: string) => rejection(loadConfig({ env: { METRO__SERVICE__TITLE_FILE: path } }));
    const errorsOf = async (path: string) => ((await load(path)) as OperatorError).errors.join();
    expect(await errorsOf(at('pipe'))).to.match(NO_FILE);
    expect(await errorsOf('/dev/zero')).to.match(NO_FILE);
    await writeFile(at('large'), 'x'.repeat(2 ** 20 + 1));
    expect(await errorsOf(at('large'))).to.match(/large cannot be read: it is larger than 1 MiB$/);
  });

  it('the configuration must be a regular file', async () => {
    expect((await rejection(loadConfig({ path: at('pipe'), env: {} }))).message).to.match(NO_FILE);
  });

  it('the key file, its audit log and their companion files must be regular files', async () => {
    const config = at('config.json');
    const keys = { use: 'file', options: { path: 'keys.json' } };
    await writeFile(config, JSON.stringify({ adapter: { use: 'memory' }, plugins: ['status'], auth: { keys } }));
    const run = (...args: string[]) => runCommand(registerKeys, ['keys', ...args, '--config', config], {});
    makePipe(at('keys.json'));
    expect(String((await run('list')).error)).to.match(NO_FILE);
    await unlink(at('keys.json'));
    makePipe(at('keys.json.audit.ndjson'));
    expect(String((await run('create', '--name', 'A')).error)).to.match(NO_FILE);
    await unlink(at('keys.json.audit.ndjson'));
    makePipe(at('keys.json.used.json'));
    expect((await run('create', '--name', 'A')).error).to.equal(undefined);
    expect((await run('list')).stdout).to.match(/A .+ -/);
  });

  it('rejects a dataset with a pipe, continues to serve the previous one, and serves the next valid one', async () => {
    const service = await startTestApp();
    const health = () => partOf(service.app, 'state').read().health.storage;
    try {
      const rows = (await readdir(service.directory)).find((name) => name.startsWith('markets')) as string;
      for (const name of [rows, 'manifest.json']) {
        const path = join(service.directory, name);
        const content = await readFile(path);
        await unlink(path);
        makePipe(path);
        const { error, stdout, stderr } = await runCommand(registerValidate, ['validate', service.directory], {});
        expect(`${error} ${stdout} ${stderr}`).to.match(NO_FILE);
        await until(() => /was refused/.test(health().message ?? ''), { withinMs: 5000 });
        expect((await service.get('/markets')).status, name).to.equal(200);
        await unlink(path);
        await writeFile(path, content);
        await until(() => health().ok, { withinMs: 5000 });
      }
    } finally {
      await service.close();
    }
  });
});

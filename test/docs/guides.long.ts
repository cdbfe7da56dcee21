/**
 * Follows the guides block by block in an empty folder, with the package installed from its tarball. A block with a
 * file name is written to that file. `add` blocks replace fields of a JSON file. `install` blocks install packages.
 * `service` blocks run until the end of the guide. `output` blocks contain the expected output of the previous block.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { installPacked } from '../support/packed.js';
import { freePort } from '../support/server-process.js';
import { addTo, type Snippet, snippetsOf } from '../support/snippets.js';

const run = promisify(execFile);

class Reader {
  #folder: string;
  #variables = '';
  #printed = '';
  #service: ChildProcess | undefined;

  constructor(
    folder: string,
    readonly port: number,
  ) {
    this.#folder = folder;
  }

  async follow({ language, info, code }: Snippet): Promise<void> {
    const text = code.replaceAll('127.0.0.1:8080', `127.0.0.1:${this.port}`);
    if (info === 'output') this.#compare(language, text);
    else if (info === 'install') await installPacked(this.#folder, ['mocha']);
    else if (info === 'service') await this.#serve(text);
    else if (info.startsWith('add ')) await addTo(join(this.#folder, info.slice('add '.length)), text);
    else if (info.includes('.')) await writeFile(join(this.#folder, info), text);
    else await this.#type(text);
  }

  async #type(code: string): Promise<void> {
    const state = join(this.#folder, '.reader');
    const script = `${this.#variables}\nset -ae\n${code}\n{ pwd; export -p; } > "${state}"`;
    const { stdout } = await run('sh', ['-c', script], { cwd: this.#folder, maxBuffer: 2 ** 24 });
    const [folder = '', ...variables] = (await readFile(state, 'utf8')).split('\n');
    await rm(state);
    this.#folder = folder;
    this.#variables = variables.join('\n');
    this.#printed = stdout;
  }

  async #serve(command: string): Promise<void> {
    const service = spawn('sh', ['-c', `exec ${command}`], {
      cwd: this.#folder,
      env: { ...process.env, PORT: String(this.port), METRO__LOG__LEVEL: 'error' },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    this.#service = service;
    let output = '';
    for await (const chunk of service.stdout) {
      output += chunk;
      if (output.includes('Listening on')) return;
    }
    throw new Error(`The service ended: ${output}`);
  }

  #compare(language: string, expected: string): void {
    if (language === 'json') expect(JSON.parse(this.#printed)).to.deep.equal(JSON.parse(expected));
    else expect(this.#printed.replaceAll('\r\n', '\n')).to.equal(expected);
  }

  async stop(): Promise<void> {
    const service = this.#service;
    if (service?.pid === undefined || service.exitCode !== null || service.signalCode !== null) return;
    // npx starts the command as a child process, so the test kills the whole process group.
    process.kill(-service.pid, 'SIGKILL');
    await once(service, 'exit');
  }
}

for (const page of [
  'docs/tutorials/first-plugin.md',
  'docs/tutorials/first-adapter.md',
  'docs/tutorials/first-service.md',
]) {
  describe(page, () => {
    let folder: string;
    let reader: Reader;
    before(async () => {
      folder = await realpath(await mkdtemp(join(tmpdir(), 'guide-')));
      reader = new Reader(folder, await freePort());
    });
    after(async () => {
      await reader.stop();
      await rm(folder, { recursive: true, force: true });
    });

    it('can be followed from an empty folder to the end', async function () {
      this.timeout(180_000);
      const snippets = snippetsOf(page);
      expect(snippets.length).to.be.greaterThan(5);
      for (const snippet of snippets) {
        await reader.follow(snippet).catch((error: Error) => {
          throw new Error(`${page}:${snippet.line}: ${error.message}`, { cause: error });
        });
      }
    });
  });
}

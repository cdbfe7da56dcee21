/** Verdicts of earlier runs, so that a run goes on where another one stopped. */
import { createHash } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Build, Mutant } from './build.js';
import type { Scope } from './scopes.js';
import type { Outcome } from './session.js';

interface Line extends Outcome {
  readonly digest: string;
  /** Of the tests it survived: other ones may notice it. */
  readonly tests?: string | undefined;
}

/** One string for all tests of a scope. */
export const testsDigest = async (build: Build, scope: Scope): Promise<string> => {
  const hash = createHash('sha256');
  for (const file of await build.tests(scope)) hash.update(await readFile(join(build.folder, file)));
  return hash.digest('hex').slice(0, 16);
};

export class Results {
  readonly #path: string;
  readonly #lines: Map<string, Line>;

  private constructor(path: string, lines: Map<string, Line>) {
    this.#path = path;
    this.#lines = lines;
  }

  static async open(path: string): Promise<Results> {
    const text = await readFile(path, 'utf8').catch(() => '');
    const lines = text.split('\n').filter((line) => line !== '');
    return new Results(path, new Map(lines.map((line) => JSON.parse(line)).map((line: Line) => [line.digest, line])));
  }

  /** Undefined where there is none, or none by these tests. */
  get({ digest }: Mutant, tests: string): Outcome | undefined {
    const line = this.#lines.get(digest);
    return line?.tests === undefined || line.tests === tests ? line : undefined;
  }

  async add({ digest }: Mutant, outcome: Outcome, tests: string): Promise<void> {
    const noticed = outcome.status === 'killed' || outcome.status === 'timeout';
    const line: Line = { digest, ...outcome, tests: noticed ? undefined : tests };
    this.#lines.set(digest, line);
    await appendFile(this.#path, `${JSON.stringify(line)}\n`);
  }
}

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { OperatorError } from '../../core/errors.js';
import { packageRoot } from '../../core/util/package.js';
import { onPath } from '../support/binaries.js';
import { findPythonPackage } from '../support/python-package.js';

const HOOKS = join(packageRoot, 'test/fuzz/hooks.py');
const PHASES = ['examples', 'coverage', 'fuzzing', 'stateful'];
/** Earlier versions of Schemathesis lack links, the coverage phase and hooks. */
const OLDEST = 4;

export interface Schemathesis {
  readonly command: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
}

export const findSchemathesis = async (): Promise<Schemathesis> => {
  const program = onPath('schemathesis');
  const command: [string, ...string[]] = program ? [program] : ['python3', '-m', 'schemathesis.cli'];
  try {
    const env = program ? process.env : await findPythonPackage('schemathesis');
    const { stdout } = await promisify(execFile)(command[0], [...command.slice(1), '--version'], { env });
    const version = /\d+(\.\d+)+/.exec(stdout)?.[0] ?? 'unknown';
    if (Number.parseInt(version, 10) >= OLDEST) return { command, env, version };
    throw new Error(`${command.join(' ')} is version ${version}.`);
  } catch (cause) {
    throw new OperatorError(
      `There is no Schemathesis ${OLDEST} or newer (${(cause as Error).message.split('\n')[0]})`,
      [
        'Put schemathesis on the PATH, as "python3 -m pip install schemathesis" does, or give Python 3 a pip that works.',
      ],
      { cause },
    );
  }
};

export interface Target {
  readonly url: string;
  readonly key: string;
}

interface Orders {
  readonly examples: number;
  readonly seed: number;
  readonly path?: string;
  readonly print?: (text: string) => void;
}

interface Verdict {
  readonly passed: boolean;
  readonly cases: number;
  readonly failures: number;
  readonly operations: { readonly total: number; readonly tested: number };
  readonly phases: readonly string[];
}

interface Report {
  readonly operations: { readonly total: number; readonly tested: number } | null;
  readonly phases: Readonly<Record<string, { readonly status: string }>> | null;
  readonly test_cases: { readonly generated: number; readonly with_failures: number; readonly errored: number };
}

export const runSchemathesis = async (
  { command, env }: Schemathesis,
  { url, key }: Target,
  { examples, seed, path, print = (text) => process.stdout.write(text) }: Orders,
): Promise<Verdict> => {
  const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-schemathesis-'));
  const file = join(folder, 'report.json');
  try {
    const args = [
      ...['run', `${url}/openapi.json`, '--url', url, '--header', `Authorization: Bearer ${key}`],
      ...['--checks', 'all', '--phases', PHASES.join(','), '--mode', 'all'],
      ...['--max-examples', String(examples), '--seed', String(seed)],
      ...(path === undefined ? [] : ['--include-path', path]),
      ...['--report', 'json', '--report-json-path', file],
    ];
    // Schemathesis writes failures to its working directory.
    const child = spawn(command[0], [...command.slice(1), ...args], {
      cwd: folder,
      env: { ...env, SCHEMATHESIS_HOOKS: HOOKS },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.setEncoding('utf8').on('data', print);
    const [exitCode] = (await once(child, 'close')) as [number | null];
    const report = JSON.parse(await readFile(file, 'utf8')) as Report;
    const { generated, with_failures, errored } = report.test_cases;
    const operations = report.operations ?? { total: 0, tested: 0 };
    const phases = PHASES.filter((name) => report.phases?.[name]?.status === 'success');
    return {
      passed: exitCode === 0 && phases.length === PHASES.length && operations.tested === operations.total,
      cases: generated,
      failures: with_failures + errored,
      operations,
      phases,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

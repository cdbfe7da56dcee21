/** `npm run coverage` runs the tests and prints the lines of `core/` and `adapters/` that no process executed. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../core/util/package.js';
import { type FileCoverage, readCoverage } from './executed-lines.js';

const THRESHOLD = 95;
const FOLDERS = ['core', 'adapters'];

const compiled = fileURLToPath(new URL('..', import.meta.url));

const percent = (files: readonly FileCoverage[]): number => {
  const lines = files.reduce((sum, file) => sum + file.lines, 0);
  return 100 * (1 - files.reduce((sum, { missed }) => sum + missed.length, 0) / lines);
};

const spans = (lines: readonly number[]): string => {
  const found: [number, number][] = [];
  for (const line of lines) {
    const last = found.at(-1);
    if (last && line === last[1] + 1) last[1] = line;
    else found.push([line, line]);
  }
  return found.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(', ');
};

const report = (files: readonly FileCoverage[]): void => {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  for (const { file, missed } of files) if (missed.length > 0) print(`${file}: ${spans(missed)}`);
  for (const folder of new Set(files.map(({ file }) => dirname(file)))) {
    const of = files.filter(({ file }) => dirname(file) === folder);
    print(`${percent(of).toFixed(1).padStart(5)}% of ${folder}`);
  }
  for (const folder of FOLDERS) {
    const covered = percent(files.filter(({ file }) => file.startsWith(`${folder}/`)));
    const enough = covered >= THRESHOLD;
    print(`${covered.toFixed(1)}% of the lines of ${folder}/${enough ? '' : `, which is less than ${THRESHOLD}%`}`);
    if (!enough) process.exitCode = 1;
  }
};

const runTests = (folder: string): void => {
  const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
  const env = { ...process.env, NODE_V8_COVERAGE: folder };
  const { status } = spawnSync(process.execPath, [mocha, 'dist/test/**/*.test.js'], {
    cwd: packageRoot,
    env,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('There is no coverage report, because tests failed.');
};

const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-coverage-'));
try {
  runTests(folder);
  report(await readCoverage([folder], compiled, FOLDERS));
} finally {
  await rm(folder, { recursive: true, force: true });
}

// Builds a checkout, or prints instructions if the compiler is missing, for example after "npm ci --omit=dev".
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { argv, execPath, exit } from 'node:process';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const compiler = () => {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  } catch {
    return undefined;
  }
};

const run = (...args) => {
  const { status } = spawnSync(execPath, args, { stdio: 'inherit' });
  if (status !== 0) exit(1);
};

export const isBuilt = () => existsSync(join(root, 'dist/cli/main.js'));

/** An existing build is kept if the compiler is missing. */
export const build = () => {
  const path = compiler();
  if (path) {
    run(join(root, 'tools/remove-stale.js'));
    run(path, '-p', join(root, 'tsconfig.json'));
    run(join(root, 'dist/tools/write-schemas.js'));
  } else if (!isBuilt()) {
    console.error(
      'metro-forecast-api is not built, and its compiler is not installed. Build it with:\n  npm ci && npm prune --omit=dev',
    );
  }
};

if (argv[1] === fileURLToPath(import.meta.url)) build();

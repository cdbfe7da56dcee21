/**
 * `npm run mutation` runs StrykerJS, which changes the code in one place at a time and counts the changes that tests
 * detect.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { packageRoot } from '../../core/util/package.js';
import { mongoForTests, redisForTests } from '../support/services.js';
import { type Scope, scopes } from './scopes.js';

const folder = join(packageRoot, 'test/mutation');
const stryker = join(folder, 'node_modules/@stryker-mutator/core/bin/stryker.js');

const install = (): void => {
  if (existsSync(stryker)) return;
  process.stderr.write(`Installing StrykerJS into ${folder} ...\n`);
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 2, 2] });
};

const runScope = ({ name, sources, tests }: Scope, options: readonly string[]): boolean => {
  process.stdout.write(`Scope ${name}\n`);
  const args = ['run', join(folder, 'stryker.config.js'), '--mutate', sources.join(), '--testFiles', tests.join()];
  const { status } = spawnSync(process.execPath, [stryker, ...args, ...options], {
    cwd: packageRoot,
    stdio: 'inherit',
  });
  return status === 0;
};

const run = async (name: string | undefined, options: readonly string[]): Promise<void> => {
  install();
  process.env['REDIS_URL'] = (await redisForTests()).url;
  process.env['MONGODB_URI'] = (await mongoForTests()).url;
  const noticed = scopes
    .filter((scope) => name === undefined || scope.name === name)
    .map((scope) => runScope(scope, options));
  process.exit(noticed.every(Boolean) ? 0 : 1);
};

const names = scopes.map(({ name }) => name);

await new Command('mutation')
  .description('Mutates the code with StrykerJS, and reports which mutants the tests kill.')
  .addArgument(new Argument('[scope]', 'all without it').choices(names))
  .argument('[options...]', 'further options of `stryker run`')
  .passThroughOptions()
  .action(run)
  .parseAsync();

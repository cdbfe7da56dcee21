/** `npm run fuzz` runs all checks and phases of Schemathesis against a service with each adapter. */
import { randomInt } from 'node:crypto';
import { Command, InvalidArgumentError, Option } from 'commander';
import { OperatorError } from '../../core/errors.js';
import { findSchemathesis, runSchemathesis } from './schemathesis.js';
import { ADAPTERS, type AdapterName, startFuzzedService } from './service.js';

interface Options {
  readonly adapter?: AdapterName;
  readonly examples: number;
  readonly seed: number;
}

const positive = (text: string): number => {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('It must be an integer from 1.');
  return number;
};

const fuzz = async ({ adapter, examples, seed }: Options): Promise<void> => {
  const schemathesis = await findSchemathesis();
  const lines: string[] = [];
  for (const name of adapter ? [adapter] : ADAPTERS) {
    const service = await startFuzzedService(name);
    try {
      const { passed, cases, failures, operations, phases } = await runSchemathesis(schemathesis, service, {
        examples,
        seed,
      });
      lines.push(
        `${name}: ${cases} cases, ${failures} failed; ${operations.tested} of ${operations.total} operations; ${phases.join(', ')}`,
      );
      if (!passed) process.exitCode = 1;
    } finally {
      await service.stop();
    }
  }
  process.stdout.write(`\nSchemathesis ${schemathesis.version}, seed ${seed}\n${lines.join('\n')}\n`);
};

const program = new Command('fuzz')
  .description(
    'Sends generated requests to the service on each adapter, and checks every response against the OpenAPI document.',
  )
  .addOption(new Option('--adapter <name>', 'one adapter').choices([...ADAPTERS]))
  .option('--examples <n>', 'maximum number of test cases per operation and phase', positive, 500)
  .option('--seed <n>', 'repeats a run', positive, randomInt(1, 2 ** 31))
  .action(fuzz);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${error instanceof OperatorError ? error.message : (error as Error).stack}\n`);
  process.exitCode = 1;
}

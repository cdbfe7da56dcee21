/** `npm run soak`: hours of mixed requests and publications, and whether memory, handles or listeners grow. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { packageRoot } from '../../core/util/package.js';
import { describeMachine } from '../machine.js';
import { ADAPTERS, type AdapterName, soak } from './soak.js';
import { judge } from './verdict.js';

interface Options {
  readonly adapter?: AdapterName;
  readonly seconds: number;
  readonly clients: number;
  readonly publishEvery: number;
  readonly seed: string;
  readonly out: string;
}

const atLeast =
  (least: number) =>
  (text: string): number => {
    const number = Number(text);
    if (!(number >= least)) throw new InvalidArgumentError(`It must be a number from ${least}.`);
    return number;
  };

const run = async ({ adapter, out, ...options }: Options): Promise<void> => {
  await mkdir(out, { recursive: true });
  for (const name of adapter ? [adapter] : ADAPTERS) {
    const result = await soak(name, options, ({ at, requests, published, rss, heapUsed, fds }) => {
      const [resident, heap] = [rss, heapUsed].map((bytes) => (bytes / 2 ** 20).toFixed(1));
      process.stderr.write(
        `${name} ${at.toFixed(0)} s: ${requests} requests, ${published} publications, RSS ${resident} MiB, heap ${heap} MiB, ${fds} fds\n`,
      );
    });
    const verdict = judge(result, describeMachine());
    const { samples, tally } = result;
    const figures = {
      options,
      trends: verdict.trends,
      failures: verdict.failures,
      statuses: [...tally.statuses],
      samples,
    };
    await writeFile(join(out, `soak-${name}.json`), `${JSON.stringify(figures, null, 2)}\n`);
    await writeFile(join(out, `soak-${name}.md`), `${verdict.text}\n`);
    await writeFile(join(out, `soak-${name}.svg`), verdict.chart);
    process.stdout.write(`\n${verdict.text}\n`);
    if (verdict.failures.length > 0) process.exitCode = 1;
  }
  process.stderr.write(`\nWritten to ${out}\n`);
};

const program = new Command('soak')
  .description('Loads a real server for long, publishes all the while, and fails where something grows.')
  .addOption(new Option('--adapter <name>', 'one adapter').choices([...ADAPTERS]))
  .option('--seconds <n>', 'length of the load on each adapter', atLeast(30), 3600)
  .option('--clients <n>', 'how many ask at once', atLeast(1), 32)
  .option('--publish-every <seconds>', 'from one publication to the next', atLeast(0.1), 3)
  .option('--seed <text>', 'of the requests', 'soak')
  .option('--out <folder>', 'where figures and curves are written', join(packageRoot, 'bench/results'))
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
}

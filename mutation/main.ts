/** `npm run mutation`: breaks the code in every usual way, one at a time, and counts what the tests notice. */
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError } from 'commander';
import { packageRoot } from '../core/package-root.js';
import { randomFrom } from '../metro/sample/random.js';
import { mongoForTests, redisForTests } from '../test/support/services.js';
import { build, type Mutant } from './build.js';
import { formatReport, type Judged, killRate } from './report.js';
import { Results, testsDigest } from './results.js';
import { scopes } from './scopes.js';
import { Session } from './session.js';

/** What has to be noticed, of all that is tried. */
const THRESHOLD = 0.85;

interface Options {
  readonly only: readonly string[];
  readonly share: number;
  readonly seed: string;
  readonly minutes: number;
}

const compiled = dirname(dirname(fileURLToPath(import.meta.url)));
const work = join(packageRoot, '.build');

/** In an order as random as the choice, so that a run that is stopped early has seen a bit of everything. */
const sample = (mutants: readonly Mutant[], share: number, seed: string): Mutant[] =>
  mutants
    // By its digest, so that a change elsewhere leaves the choice as it is.
    .map((mutant) => ({ mutant, rank: randomFrom(`${seed} ${mutant.digest}`).uniform() }))
    .filter(({ rank }) => rank < share)
    .sort((a, b) => a.rank - b.rank)
    .map(({ mutant }) => mutant);

const run = async ({ only, share, seed, minutes }: Options): Promise<void> => {
  await mkdir(work, { recursive: true });
  const chosen = scopes.filter(({ name }) => only.length === 0 || only.includes(name));
  const built = await build(compiled, join(work, `mutation-${chosen.map(({ name }) => name).join('-')}`), chosen);
  const results = await Results.open(join(work, 'mutation-results.ndjson'));
  const end = Date.now() + minutes * 60_000;
  process.env['REDIS_URL'] = (await redisForTests()).url;
  process.env['MONGODB_URI'] = (await mongoForTests()).url;
  const tried = sample(built.mutants, share, seed);
  process.stderr.write(`${tried.length} of ${built.mutants.length} mutants (seed ${seed})\n`);
  const judged: Judged[] = [];
  let left = 0;
  for (const scope of chosen) {
    const tests = await testsDigest(built, scope);
    let session: Session | undefined;
    for (const mutant of tried.filter((each) => each.scope === scope.name)) {
      let outcome = results.get(mutant, tests);
      if (outcome === undefined && Date.now() > end) {
        left++;
        continue;
      }
      if (outcome === undefined) {
        session ??= await Session.open(built, scope);
        outcome = await session.judge(mutant);
        await results.add(mutant, outcome, tests);
      }
      judged.push({ mutant, ...outcome });
    }
    session?.close();
  }
  process.stdout.write(`${formatReport(built.mutants, judged)}\n`);
  if (left > 0) process.stderr.write(`${left} are left for the next run, which goes on here.\n`);
  if (killRate(judged) < THRESHOLD) process.exitCode = 1;
};

const number = (text: string): number => {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
};

const program = new Command('mutation')
  .description('Breaks the code in every usual way, one at a time, and counts what the tests notice.')
  .option('--only <scopes...>', `of ${scopes.map(({ name }) => name).join(', ')}`, [])
  .option('--share <fraction>', 'of the mutants, chosen by the seed', number, 1)
  .option('--seed <text>', 'for the choice', '1')
  .option('--minutes <n>', 'stop after this time; the next run goes on from there', number, Number.POSITIVE_INFINITY)
  .action(run);

await program.parseAsync();
process.exit();

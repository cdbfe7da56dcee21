/** `main.ts` adds the files to mutate and the tests to run. */
import { fileURLToPath } from 'node:url';

export default {
  plugins: ['@stryker-mutator/mocha-runner', fileURLToPath(new URL('ignore-words.js', import.meta.url))],
  ignorers: ['words'],
  testRunner: 'mocha',
  mochaOptions: { require: ['dist/test/mutation/child-processes.js'] },
  // Mutants can have type errors, and no test reads declaration files.
  buildCommand: 'tsc -p tsconfig.json --noCheck --declaration false --incremental false',
  // StrykerJS would otherwise rewrite tsconfig.json with the TypeScript API, which TypeScript 7 does not have.
  tsconfigFile: 'none',
  // The sandbox builds its own `dist`. With a copied `dist`, mutants in code that runs at load time always survive.
  ignorePatterns: ['/dist', '/.build', '/bench/results'],
  tempDirName: '.build/mutation',
  reporters: ['progress-append-only', 'clear-text'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  // Tests wait for real timers and servers, so they need more time on slow machines.
  concurrency: 1,
  timeoutMS: 20_000,
  dryRunTimeoutMinutes: 15,
  thresholds: { high: 95, low: 90, break: 85 },
};

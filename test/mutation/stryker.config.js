/** How StrykerJS tries the mutants of any scope; main.ts adds which files it mutates and which tests it runs. */
import { fileURLToPath } from 'node:url';

export default {
  plugins: ['@stryker-mutator/mocha-runner', fileURLToPath(new URL('ignore-words.js', import.meta.url))],
  ignorers: ['words'],
  testRunner: 'mocha',
  mochaOptions: { require: ['dist/test/mutation/child-processes.js'] },
  // The mutated sources break types, and an emitted declaration file is read by nobody here.
  buildCommand: 'tsc -p tsconfig.json --noCheck --declaration false --incremental false',
  // StrykerJS rewrites this file by TypeScript's programming interface, which TypeScript 7 does not have.
  tsconfigFile: 'none',
  // With a copy of `dist` in the sandbox, mutants that run only while a file is loaded survived without exception.
  ignorePatterns: ['/dist', '/.build', '/bench/results'],
  tempDirName: '.build/mutation',
  reporters: ['progress-append-only', 'clear-text'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  // Tests wait for real timers and servers, also where the machine is slow.
  concurrency: 1,
  timeoutMS: 20_000,
  dryRunTimeoutMinutes: 15,
  thresholds: { high: 95, low: 90, break: 85 },
};

/**
 * Test settings. Temporary files are kept in memory if it is large enough, which halves the duration of MongoDB tests.
 */
const { accessSync, constants, statfsSync } = require('node:fs');
const { freemem } = require('node:os');

const IN_MEMORY = '/dev/shm';
const NEEDED_BYTES = 6 * 2 ** 30;

const hasRoom = () => {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return Math.min(bavail * bsize, freemem()) > NEEDED_BYTES;
  } catch {
    return false;
  }
};

if (!process.env.TMPDIR && hasRoom()) process.env.TMPDIR = IN_MEMORY;

module.exports = {
  parallel: true,
  // Many tests mostly wait, so more jobs than cores are useful.
  jobs: 4,
  timeout: 60_000,
  // Without no-flush-bytecode, V8 can crash when cached-get.test.ts starts to record coverage.
  'node-option': ['enable-source-maps', 'no-flush-bytecode'],
  'forbid-only': true,
};

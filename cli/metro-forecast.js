#!/usr/bin/env node
// Runs the command line. Builds a checkout first that has not been built.
import { build, isBuilt } from './build.js';

if (!isBuilt()) build();
if (isBuilt()) {
  const { main } = await import('../dist/cli/main.js');
  await main(process.argv);
} else process.exitCode = 1;

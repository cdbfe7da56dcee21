#!/usr/bin/env node
// Runs the command line. Builds a checkout first that has not been built.
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './build.js';

// From version 22.8 on, Node can keep compiled code for the next start. Without permission to write, it does not.
module.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/metro-forecast', import.meta.url)));

if (!isBuilt()) build();
if (isBuilt()) {
  const { main } = await import('../dist/cli/main.js');
  await main(process.argv);
} else process.exitCode = 1;

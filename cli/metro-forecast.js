#!/usr/bin/env node
// Runs the command-line program. Builds the checkout first if necessary.
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './build.js';

// Node 22.8 and later can cache compiled code for the next start, if the folder is writable.
module.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/metro-forecast', import.meta.url)));

if (!isBuilt()) build();
if (isBuilt()) {
  const { main } = await import('../dist/cli/main.js');
  await main(process.argv);
} else process.exitCode = 1;

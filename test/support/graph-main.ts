/** `npm run graph`: draws the graph of services into docs/how-it-works.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../core/util/package.js';
import { graphOf } from './graph.js';

const page = join(packageRoot, 'docs/how-it-works.md');
const text = readFileSync(page, 'utf8');
writeFileSync(page, text.replace(/```mermaid\n[\s\S]*?```/, graphOf()));

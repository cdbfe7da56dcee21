/** JavaScript as a tree: acorn's, which the run installs, told in as few types as mutating needs. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { packageRoot } from '../core/package-root.js';

/** A node of ESTree. Which other fields there are depends on its type. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  // biome-ignore lint/suspicious/noExplicitAny: the fields of every type of node at once
  readonly [field: string]: any;
}

const folder = join(packageRoot, 'mutation');

/** Installs the parser, which is none of the product's packages, on the first run. */
export const installParser = (): void => {
  if (existsSync(join(folder, 'node_modules/acorn'))) return;
  process.stderr.write(`Installing the parser into ${folder} ...\n`);
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 2, 2] });
};

export const parse = (source: string): Node =>
  createRequire(join(folder, 'package.json'))('acorn').parse(source, { ecmaVersion: 2024, sourceType: 'module' });

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';

/** A node's own ones, in the sequence of the text. */
export const childrenOf = (node: Node): Node[] =>
  Object.values(node)
    .flat()
    .filter(isNode)
    .sort((a, b) => a.start - b.start);

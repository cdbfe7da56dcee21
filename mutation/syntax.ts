/** JavaScript as a tree: acorn's, told in as few types as mutating needs. */
import { parse as parseProgram } from 'acorn';
import { isObject } from '../core/is-object.js';

/** A node of ESTree. Which other fields there are depends on its type. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  // biome-ignore lint/suspicious/noExplicitAny: the fields of every type of node at once
  readonly [field: string]: any;
}

export const parse = (source: string): Node => parseProgram(source, { ecmaVersion: 2024, sourceType: 'module' });

const isNode = (value: unknown): value is Node => isObject(value) && typeof value['type'] === 'string';

/** A node's own ones, in the sequence of the text. */
export const childrenOf = (node: Node): Node[] =>
  Object.values(node)
    .flat()
    .filter(isNode)
    .sort((a, b) => a.start - b.start);

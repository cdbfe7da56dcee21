/** Puts every mutation of a file into it at once, each behind a question to the switch: is it this one's turn? */
import { type Mutation, mutationsOf } from './mutators.js';
import { childrenOf, type Node, parse } from './syntax.js';

/** One mutation at one place of a file. */
export interface Site extends Mutation {
  /** Offset in the file as it was. */
  readonly start: number;
  readonly end: number;
}

export interface Instrumented {
  readonly code: string;
  /** The first has the first number that was given, and so on. */
  readonly sites: readonly Site[];
}

const QUESTION = '__mutant';

/** Children that only look like expressions: names, sources of modules, targets, and what ends early with a chain. */
const isFixed = (node: Node, parent: Node | undefined, parents: readonly Node[]): boolean => {
  if (parent === undefined || /Pattern$|^(?:Import|Export|Super|TemplateElement)/.test(node.type)) return true;
  if (/^(?:Import|Export)/.test(parent.type)) return true;
  if (parent['key'] === node && !parent['computed']) return true;
  if (parent['directive'] !== undefined || parent.type === 'TaggedTemplateExpression') return true;
  if (parent['left'] === node && /^(?:Assignment|For(?:In|Of))/.test(parent.type)) return true;
  if (parent.type === 'UpdateExpression' || (parent.type === 'UnaryExpression' && parent['operator'] === 'delete'))
    return true;
  if (node.type === 'CallExpression' && /^(?:Super|Import)/.test(node['callee'].type)) return true;
  return isInChain(node, parents);
};

/** On the way from a chain to its beginning: what follows a `?.` has to stay in one piece with it. */
const isInChain = (node: Node, parents: readonly Node[]): boolean => {
  for (const parent of parents) {
    if (parent.type === 'ChainExpression') return true;
    if (parent['object'] !== node && parent['callee'] !== node) return false;
    node = parent;
  }
  return false;
};

const isBody = (node: Node, parent: Node | undefined): boolean =>
  node.type === 'BlockStatement' && node['body'].length > 0 && parent !== undefined;

/**
 * @param first the number of the first mutation
 * @param switchModule what the file imports the switch from
 */
export const instrument = (source: string, first: number, switchModule: string): Instrumented => {
  const sites: Site[] = [];
  const number = ({ start, end }: Node, mutation: Mutation): number => {
    sites.push({ ...mutation, start, end });
    return first + sites.length - 1;
  };

  const withChildren = (node: Node, parents: readonly Node[]): string => {
    let text = '';
    let at = node.start;
    for (const child of childrenOf(node)) {
      // Of `{ a }`, name and value are the same text.
      if (child.start < at) continue;
      text += source.slice(at, child.start) + emit(child, [node, ...parents]);
      at = child.end;
    }
    return text + source.slice(at, node.end);
  };

  const emit = (node: Node, parents: readonly Node[]): string => {
    const [parent] = parents;
    if (isBody(node, parent)) {
      const id = number(node, { operator: 'an empty block', text: '{}' });
      return `{ if (!${QUESTION}(${id})) ${withChildren(node, parents)} }`;
    }
    const mutations = isFixed(node, parent, parents) ? [] : mutationsOf({ node, parents, source });
    const asked = mutations.map((mutation) => `${QUESTION}(${number(node, mutation)}) ? (${mutation.text}) : `);
    const text = withChildren(node, parents);
    return asked.length === 0 ? text : `(${asked.join('')}(${text}))`;
  };

  const code = emit(parse(source), []);
  return { code: `import { ${QUESTION} } from ${JSON.stringify(switchModule)};\n${code}`, sites };
};

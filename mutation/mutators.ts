/** What can be done wrong at one place of the code: the usual operators of mutation testing. */
import type { Node } from './syntax.js';

/** Instead of the node, this text; for a block, nothing. */
export interface Mutation {
  readonly operator: string;
  readonly text: string;
}

/** A node, those around it from the inside out, and the text they come from. */
export interface Place {
  readonly node: Node;
  readonly parents: readonly Node[];
  readonly source: string;
}

type Mutator = (place: Place) => Mutation[];

const BINARY: Readonly<Record<string, readonly string[]>> = {
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '<<': ['>>'],
  '>>': ['<<'],
  '&': ['|'],
  '|': ['&'],
};
const LOGICAL: Readonly<Record<string, string>> = { '&&': '||', '||': '&&', '??': '&&' };
const ASSIGNMENT: Readonly<Record<string, string>> = {
  '+=': '-=',
  '-=': '+=',
  '&&=': '||=',
  '||=': '&&=',
  '??=': '&&=',
};
/** Calls that change what they are called on into something of the same kind: left out, or their opposite. */
const LEFT_OUT = new Set(
  'filter slice sort toSorted reverse toReversed trim trimEnd trimStart flat toLowerCase toUpperCase'.split(' '),
);
const OPPOSITES = new Map<string, string>(
  Object.entries({
    startsWith: 'endsWith',
    endsWith: 'startsWith',
    some: 'every',
    every: 'some',
    min: 'max',
    max: 'min',
    floor: 'ceil',
    ceil: 'floor',
    find: 'findLast',
    findLast: 'find',
  }),
);
const COMPARISONS = new Set(['===', '!==', '<', '<=', '>', '>=']);

const slice = ({ source }: Place, node: Node): string => source.slice(node.start, node.end);

const isText = (node: Node): boolean =>
  node.type === 'TemplateLiteral' ||
  (node.type === 'Literal' && typeof node['value'] === 'string') ||
  (node.type === 'BinaryExpression' && node['operator'] === '+' && (isText(node['left']) || isText(node['right'])));

const isTest = ({ node, parents: [parent] }: Place): boolean =>
  parent?.['test'] === node && parent.type !== 'SwitchCase';

/** Words for the log and for the documentation are no behaviour. */
const isProse = ({ parents }: Place): boolean =>
  parents[0]?.['key']?.name === 'description' ||
  parents.some(
    ({ type, callee }) =>
      type === 'CallExpression' &&
      callee.type === 'MemberExpression' &&
      /logger$/i.test(callee.object.name ?? callee.object.property?.name ?? ''),
  );

const binary: Mutator = (place) => {
  const { left, right, operator } = place.node as Node & { operator: string };
  if (operator === '+' && isText(place.node)) return [];
  const others = (BINARY[operator] ?? []).map((other) => ({
    operator: `${operator} to ${other}`,
    text: `(${slice(place, left)}) ${other} (${slice(place, right)})`,
  }));
  return COMPARISONS.has(operator) && !isTest(place) ? [...others, ...decided] : others;
};

const decided: readonly Mutation[] = ['true', 'false'].map((text) => ({ operator: `condition to ${text}`, text }));

const logical: Mutator = (place) => {
  const { left, right, operator } = place.node as Node & { operator: string };
  const other = LOGICAL[operator]!;
  return [{ operator: `${operator} to ${other}`, text: `(${slice(place, left)}) ${other} (${slice(place, right)})` }];
};

const literal: Mutator = (place) => {
  const { value } = place.node as Node & { value: unknown };
  if (typeof value === 'boolean') return [{ operator: `${value} to ${!value}`, text: String(!value) }];
  if (typeof value !== 'string' || isProse(place)) return [];
  return [{ operator: value === '' ? 'text for none' : 'no text', text: value === '' ? '"mutated"' : '""' }];
};

const template: Mutator = (place) => (isProse(place) ? [] : [{ operator: 'no text', text: '``' }]);

const array: Mutator = ({ node }) => {
  const full = node['elements'].length > 0;
  return [{ operator: full ? 'no items' : 'an item for none', text: full ? '[]' : '["mutated"]' }];
};

const object: Mutator = (place) =>
  place.node['properties'].length === 0 || isProse(place) ? [] : [{ operator: 'no properties', text: '{}' }];

const unary: Mutator = (place) => {
  const { operator, argument } = place.node as Node & { operator: string };
  if (operator !== '!' && operator !== '-') return [];
  return [{ operator: `without ${operator}`, text: slice(place, argument) }];
};

const update: Mutator = (place) => {
  const { operator, prefix, argument } = place.node as Node & { operator: string };
  const other = operator === '++' ? '--' : '++';
  const target = slice(place, argument);
  return [{ operator: `${operator} to ${other}`, text: prefix ? `${other}${target}` : `${target}${other}` }];
};

const assignment: Mutator = (place) => {
  const { operator, left, right } = place.node as Node & { operator: string };
  const other = ASSIGNMENT[operator];
  if (other === undefined || (operator === '+=' && isText(right))) return [];
  return [{ operator: `${operator} to ${other}`, text: `${slice(place, left)} ${other} ${slice(place, right)}` }];
};

const call: Mutator = (place) => {
  const { callee } = place.node as Node & { callee: Node };
  if (callee.type !== 'MemberExpression' || callee['computed'] || callee['optional']) return [];
  const name: string = callee['property'].name;
  if (LEFT_OUT.has(name)) return [{ operator: `without .${name}()`, text: slice(place, callee['object']) }];
  const opposite = OPPOSITES.get(name);
  if (opposite === undefined) return [];
  const rest = place.source.slice(callee['property'].end, place.node.end);
  return [{ operator: `${name} to ${opposite}`, text: `(${slice(place, callee['object'])}).${opposite}${rest}` }];
};

/** Each `?.` of a chain without its question mark. */
const chain: Mutator = (place) => {
  const mutations: Mutation[] = [];
  for (let node: Node | undefined = place.node['expression']; node; node = node['object'] ?? node['callee']) {
    if (!node['optional']) continue;
    const from = (node['object'] ?? node['callee']).end;
    const at = place.source.indexOf('?.', from);
    const member = node.type === 'MemberExpression' && !node['computed'];
    const text = `${place.source.slice(place.node.start, at)}${member ? '.' : ''}${place.source.slice(at + 2, place.node.end)}`;
    mutations.push({ operator: '?. to .', text });
  }
  return mutations;
};

const NOTHING = { operator: 'returns nothing', text: 'undefined' };

/** Where all that a function does is to return something, emptying its body would say the same. */
const isWholeBody = ({ parents: [, block, around] }: Place): boolean =>
  block?.type === 'BlockStatement' && block['body'].length === 1 && /Function/.test(around?.type ?? '');

const byType: Readonly<Record<string, Mutator>> = {
  BinaryExpression: binary,
  LogicalExpression: logical,
  Literal: literal,
  TemplateLiteral: template,
  ArrayExpression: array,
  ObjectExpression: object,
  UnaryExpression: unary,
  UpdateExpression: update,
  AssignmentExpression: assignment,
  CallExpression: call,
  ChainExpression: chain,
};

const isConstant = ({ type, name }: Node): boolean =>
  type === 'Literal' || (type === 'Identifier' && name === 'undefined');

/** Those of an expression at its place: as an operator, as a condition, as what is returned, as a statement. */
export const mutationsOf = (place: Place): Mutation[] => {
  const { node, parents } = place;
  const parent = parents[0];
  const mutations = byType[node.type]?.(place) ?? [];
  if (isTest(place)) mutations.push(...(/^(?:While|For|DoWhile)/.test(parent!.type) ? decided.slice(1) : decided));
  const returned = parent?.type === 'ReturnStatement' && !isWholeBody(place);
  const concise = parent?.type === 'ArrowFunctionExpression' && parent['body'] === node;
  if ((returned || concise) && !isConstant(node)) mutations.push(NOTHING);
  const called = node.type === 'ChainExpression' ? node['expression'] : node;
  if (parent?.type === 'ExpressionStatement' && /^(?:Call|Await)Expression$/.test(called.type)) {
    mutations.push({ operator: 'without the call', text: 'undefined' });
  }
  return mutations;
};

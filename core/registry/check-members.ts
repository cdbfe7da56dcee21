import { isJsonObject } from '../validation/json.js';
import { nearest } from '../validation/nearest.js';

/** The type of a member. A question mark at the end means that the member is optional. */
type MemberKind = 'string' | 'function' | 'object' | 'list' | 'boolean' | 'number';
export type Members = Readonly<Record<string, MemberKind | `${MemberKind}?` | 'list|function?'>>;

const isOf = (kind: string, value: unknown): boolean => {
  if (kind === 'list') return Array.isArray(value);
  return kind === 'object' ? isJsonObject(value) : typeof value === kind;
};

const article = (kind: string): string => (kind === 'object' ? 'an object' : `a ${kind}`);

export const memberErrors = (given: Readonly<Record<string, unknown>>, members: Members): string[] => [
  ...Object.entries(members).flatMap(([name, kind]) => {
    const isOptional = kind.endsWith('?');
    const wanted = kind.replace('?', '');
    if (given[name] === undefined) return isOptional ? [] : [`"${name}" is missing`];
    return wanted.split('|').some((each) => isOf(each, given[name]))
      ? []
      : [`"${name}" must be ${wanted.split('|').map(article).join(' or ')}`];
  }),
  ...Object.keys(given).flatMap((name) => {
    const guess = Object.hasOwn(members, name) ? undefined : nearest(name, Object.keys(members));
    return guess && given[guess] === undefined ? [`"${name}" is not known; did you mean "${guess}"?`] : [];
  }),
];

export const listFrom = <T>(name: string, returned: readonly T[] | undefined): readonly T[] => {
  if (returned === undefined || Array.isArray(returned)) return returned ?? [];
  const isPromise = typeof (returned as Partial<Promise<unknown>>).then === 'function';
  throw new Error(
    isPromise
      ? `${name} must return a list, not a promise: it must not be async`
      : `${name} must return a list, not ${typeof returned === 'object' ? 'an object' : String(returned)}`,
  );
};

/** Paths to values in a document, formatted as in `plugins[0].options.path`. */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from './json.js';

export type Path = readonly (string | number)[];

export const formatPath = (path: Path, root = ''): string =>
  path.reduce<string>((text, segment) => {
    if (typeof segment === 'number') return `${text}[${segment}]`;
    if (!/^[\w$-]+$/.test(segment)) return `${text}[${JSON.stringify(segment)}]`;
    return text === '' ? segment : `${text}.${segment}`;
  }, root);

export const isWithin = (path: string, outer: string): boolean =>
  path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);

export const pointerPath = (pointer: string, root: unknown): Path => {
  let value = root;
  return pointer
    .split('/')
    .slice(1)
    .map((token) => {
      const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
      const segment = Array.isArray(value) ? Number(name) : name;
      value = (value as Record<string | number, unknown> | undefined)?.[segment];
      return segment;
    });
};

/** @param isWhole returns true for an object that is compared as a whole. Default: no object */
export const differences = (
  before: unknown,
  after: unknown,
  isWhole: (value: object) => boolean = () => false,
  path: Path = [],
): Path[] => {
  if (!isObject(before) || !isObject(after) || isWhole(after)) return isDeepStrictEqual(before, after) ? [] : [path];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    differences(before[name], after[name], isWhole, [...path, Array.isArray(before) ? Number(name) : name]),
  );
};

export const valueAt = (root: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (value, segment) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, segment)
        ? (value as Record<string | number, unknown>)[segment]
        : undefined,
    root,
  );

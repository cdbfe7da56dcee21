/** Paths inside a configuration: written `plugins[0].options.path`, kept as segments. */

export type Path = readonly (string | number)[];

/** @param root what the path goes on from, already written */
export const formatPath = (path: Path, root = ''): string =>
  path.reduce<string>((text, segment) => {
    if (typeof segment === 'number') return `${text}[${segment}]`;
    if (!/^[\w$-]+$/.test(segment)) return `${text}[${JSON.stringify(segment)}]`;
    return text === '' ? segment : `${text}.${segment}`;
  }, root);

/** Whether a written path is that of a value, or of something inside it. */
export const isWithin = (path: string, outer: string): boolean =>
  path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);

/** Reads a JSON Pointer (RFC 6901) into the value that it points into. */
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

/** The own property at the path, or undefined. */
export const valueAt = (root: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (value, segment) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, segment)
        ? (value as Record<string | number, unknown>)[segment]
        : undefined,
    root,
  );

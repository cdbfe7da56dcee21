/** Name of the plugin, and tag of its operations in the OpenAPI document. */
export const TABLES = 'tables';

export const listPath = (name: string): string => `/${name.replaceAll('_', '-')}`;

export const totalsPath = (list: string): string => `/totals${list}`;

export const rowPath = (list: string, key: readonly string[]): string =>
  `${list}/${key.map((field) => `{${field}}`).join('/')}`;

interface Operations {
  readonly get: { readonly tags?: readonly string[] };
}

/** Only tables have both a list and totals. */
export const listsIn = (paths: Readonly<Record<string, Operations>>): string[] =>
  Object.keys(paths).filter((path) => paths[path]!.get.tags?.includes(TABLES) && totalsPath(path) in paths);

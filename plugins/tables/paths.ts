/** Defines the paths of tables, and uses them to find tables in the OpenAPI document. */

/** Name of the plugin, which is also the tag of its operations in the OpenAPI document. */
export const TABLES = 'tables';

/** @param name of the collection */
export const listPath = (name: string): string => `/${name.replaceAll('_', '-')}`;

export const totalsPath = (list: string): string => `/totals${list}`;

export const rowPath = (list: string, key: readonly string[]): string =>
  `${list}/${key.map((field) => `{${field}}`).join('/')}`;

interface Operations {
  readonly get: { readonly tags?: readonly string[] };
}

/** Returns the list path of each table. Only tables have both a list and totals. */
export const listsIn = (paths: Readonly<Record<string, Operations>>): string[] =>
  Object.keys(paths).filter((path) => paths[path]!.get.tags?.includes(TABLES) && totalsPath(path) in paths);

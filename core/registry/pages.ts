/** Finds the pages among the mounts. Other mounts serve files, or protocols such as MCP. */
import type { Mount } from '../contracts/plugin.js';

/** The path of the page where users enter a key. */
export const SIGN_IN = '/sign-in';

/** The front page is not counted, because its mount has no content security policy. */
export const isPage = ({ contentSecurityPolicy }: Pick<Mount, 'contentSecurityPolicy'>): boolean =>
  contentSecurityPolicy !== undefined;

/**
 * Divides the pages, except the sign-in page, into pages and guides. A guide is a page whose path is below the path of
 * another page.
 */
export const pagesOf = <M extends Pick<Mount, 'path' | 'contentSecurityPolicy'>>({
  mounts,
}: {
  readonly mounts: readonly M[];
}): { readonly pages: M[]; readonly guides: M[] } => {
  const all = mounts.filter((mount) => isPage(mount) && mount.path !== SIGN_IN);
  const isGuide = ({ path }: M) => all.some((page) => path.startsWith(`${page.path}/`));
  return { pages: all.filter((page) => !isGuide(page)), guides: all.filter(isGuide) };
};

/** Finds the pages among the mounts. Other mounts serve files, or protocols such as MCP. */
import type { Mount } from '../contracts/plugin.js';

/** The path of the page where users enter a key. */
export const SIGN_IN = '/sign-in';

/** Returns false for the front page, because its mount has no content security policy. */
export const isPage = ({ contentSecurityPolicy }: Pick<Mount, 'contentSecurityPolicy'>): boolean =>
  contentSecurityPolicy !== undefined;

/**
 * Returns guides separately from other pages, and omits the sign-in page. A guide is a page whose path is below the
 * path of another page.
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

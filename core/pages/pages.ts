import type { Mount } from '../contracts/plugin.js';

/** The path of the page where users enter a key. */
export const SIGN_IN = '/sign-in';

export const pagesOf = <M extends Pick<Mount, 'page'>>({
  mounts,
}: {
  readonly mounts: readonly M[];
}): { readonly pages: M[]; readonly guides: M[] } => ({
  pages: mounts.filter(({ page }) => page === 'main'),
  guides: mounts.filter(({ page }) => page === 'guide'),
});

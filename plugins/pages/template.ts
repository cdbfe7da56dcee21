/** Fills the service's own facts into a page: where the API is, and what other pages there are. */
import type { MountContext } from '../../core/contracts/plugin.js';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);

/** Only a mount with a policy of its own shows a page: others speak protocols. */
const linksTo = (path: string, { mounts }: MountContext): string =>
  mounts
    .filter((mount) => mount.contentSecurityPolicy !== undefined && !path.startsWith(`${mount.path}/`))
    .map((mount) => `<li><a href="${escapeHtml(mount.path)}">${escapeHtml(mount.summary)}</a></li>`)
    .join('');

/** The modules that the page's own ones import, told at once: else each waits for the one that names it. */
const preloads = (html: string, path: string, files: readonly string[]): string =>
  files
    .filter((name) => name.endsWith('.js') && !html.includes(`/${name}"`))
    .map((name) => `<link rel="modulepreload" href="${escapeHtml(`${path}/${name}`)}">`)
    .join('');

/**
 * @param html with `{{service}}`, `{{base}}`, `{{path}}`, `{{preloads}}` and `{{links}}` (list items) where they are to stand
 * @param path where its files are, below the mount's own
 * @param files names of all files of the page
 */
export const fillTemplate = (html: string, path: string, files: readonly string[], context: MountContext): string => {
  const values: Readonly<Record<string, string>> = {
    service: escapeHtml(context.service.name),
    base: escapeHtml(context.basePath),
    path: escapeHtml(path),
    preloads: preloads(html, path, files),
    links: linksTo(path, context),
  };
  return html.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => values[name] ?? whole);
};

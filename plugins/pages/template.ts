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
    .filter((mount) => mount.contentSecurityPolicy !== undefined && mount.path !== path)
    .map((mount) => `<li><a href="${escapeHtml(mount.path)}">${escapeHtml(mount.summary)}</a></li>`)
    .join('');

/** @param html with `{{base}}`, `{{path}}` and `{{links}}` (list items) where they are to stand */
export const fillTemplate = (html: string, path: string, context: MountContext): string => {
  const values: Readonly<Record<string, string>> = {
    base: escapeHtml(context.basePath),
    path: escapeHtml(path),
    links: linksTo(path, context),
  };
  return html.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => values[name] ?? whole);
};

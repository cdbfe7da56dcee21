/** Fills the service's own facts into a page: where the API is, and what other pages there are. */
import type { Mount, MountContext } from '../../core/contracts/plugin.js';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);

/**
 * The pages of a service and, apart from them, its guides: pages below another one, which lists them. Only a mount with a
 * policy of its own shows a page: others speak protocols.
 */
export const pagesOf = ({ mounts }: MountContext): { readonly pages: Mount[]; readonly guides: Mount[] } => {
  const all = mounts.filter((mount) => mount.contentSecurityPolicy !== undefined);
  const isGuide = ({ path }: Mount) => all.some((page) => path.startsWith(`${page.path}/`));
  return { pages: all.filter((page) => !isGuide(page)), guides: all.filter(isGuide) };
};

const listOf = (pages: readonly Mount[]): string =>
  pages.map((page) => `<li><a href="${escapeHtml(page.path)}">${escapeHtml(page.summary)}</a></li>`).join('');

/** Preloads all modules: without that, each would wait for the module that imports it. */
const preloads = (html: string, path: string, files: readonly string[]): string =>
  files
    .filter((name) => name.endsWith('.js') && !html.includes(`/${name}"`))
    .map((name) => `<link rel="modulepreload" href="${escapeHtml(`${path}/${name}`)}">`)
    .join('');

/** What the head of every page begins with. */
const head = ({ service, base, path }: { service: string; base: string; path: string }): string =>
  [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta name="service" content="${service}">`,
    `<meta name="base-path" content="${base}">`,
    `<link rel="icon" href="${path}/icon.svg">`,
    `<link rel="stylesheet" href="${path}/page.css">`,
  ].join('\n    ');

/**
 * @param html with `{{head}}`, `{{service}}`, `{{owner}}`, `{{title}}`, `{{base}}`, `{{mount}}`, `{{path}}` (of its files),
 * `{{preloads}}`, `{{links}}` and `{{guides}}` (list items) where they are to stand
 * @param page where the page is mounted, its title, the address of its files and their names
 * @param more further values, by their name in braces
 */
export const fillTemplate = (
  html: string,
  page: { readonly path: string; readonly title: string; readonly folder: string; readonly files: readonly string[] },
  context: MountContext,
  more: Readonly<Record<string, string>> = {},
): string => {
  const { pages, guides } = pagesOf(context);
  const own = {
    service: escapeHtml(context.service.name),
    owner: escapeHtml(context.service.title),
    title: escapeHtml(page.title),
    base: escapeHtml(context.basePath),
    mount: escapeHtml(page.path),
    path: escapeHtml(page.folder),
  };
  const values: Readonly<Record<string, string>> = {
    ...Object.fromEntries(Object.entries(more).map(([name, value]) => [name, escapeHtml(value)])),
    ...own,
    head: head(own),
    preloads: preloads(html, page.folder, page.files),
    links: listOf(pages.filter(({ path }) => path !== page.path)),
    guides: listOf(guides),
  };
  return html.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => values[name] ?? whole);
};

import type { Mount, MountContext } from '../contracts/plugin.js';
import { escapeHtml } from '../util/escape-html.js';
import { importsOf, type PageFile, type PageFiles, resolveName } from './page-files.js';
import { pagesOf } from './pages.js';

/** Returns a banner for pages with data if the dataset is synthetic, and otherwise an empty string. */
export const syntheticBanner = ({ state }: Pick<MountContext, 'state'>): string =>
  state.snapshot?.manifest.synthetic === true
    ? '<aside class="banner" aria-label="About this data">Synthetic data, generated for trying out the service. No value is real.</aside>'
    : '';

const listItem = (page: Mount, publicPath: string, current: string): string => {
  const attribute = page.document === undefined ? '' : ` data-document="${escapeHtml(page.document)}"`;
  const mark = page.frontPage === undefined ? '' : ' data-shows-data';
  const here = page.path === current ? ' aria-current="page"' : '';
  return `<li><a href="${escapeHtml(publicPath + page.path)}"${attribute}${mark}${here}>${escapeHtml(page.summary)}</a></li>`;
};

const listOf = (pages: readonly Mount[], publicPath: string, current: string): string =>
  pages.map((page) => listItem(page, publicPath, current)).join('');

/** Without preload links, the browser would find the modules one after another, as it reads their imports. */
const preloadsOf = (modules: readonly string[], root: string): string =>
  modules.map((name) => `<link rel="modulepreload" href="${escapeHtml(`${root}/${name}`)}">`).join('');

/** Returns text such as `60 requests per minute`. */
export const limitsText = ({ limit, quotas }: NonNullable<MountContext['anonymous']>): string =>
  [
    [limit, 'minute'],
    [quotas?.perDay, 'day'],
    [quotas?.perMonth, 'month'],
  ]
    .flatMap(([most, period]) => (most == null ? [] : [`${most.toLocaleString('en-US')} requests per ${period}`]))
    .join(', ');

const headOf = (values: Readonly<Record<string, string>>): string => {
  const { service, base, publicPath, root, anonymous, getKey, embeds } = values;
  return [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta name="service" content="${service}">`,
    `<meta name="base-path" content="${base}">`,
    `<meta name="public-path" content="${publicPath}">`,
    `<meta name="anonymous" content="${anonymous}">`,
    `<meta name="get-key" content="${getKey}">`,
    `<meta name="embeds" content="${embeds}">`,
    `<link rel="icon" href="${root}/core/pages/shared/icon.svg">`,
    `<link rel="stylesheet" href="${root}/core/pages/shared/tokens.css">`,
    `<link rel="stylesheet" href="${root}/core/pages/shared/base.css">`,
    `<link rel="stylesheet" href="${root}/core/pages/shared/page.css">`,
    `<script type="module" src="${root}/core/pages/shared/load-errors.js"></script>`,
    `<script type="module" src="${root}/core/pages/shared/printed-address.js"></script>`,
  ].join('\n    ');
};

const escaped = (values: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, escapeHtml(value)]));

const replaceValues = (html: string, values: Readonly<Record<string, string>>): string =>
  html.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => (Object.hasOwn(values, name) ? values[name]! : whole));

const REFERENCE = /\b(src|href)="(\.[^"]+)"/g;

interface FilledPage {
  readonly path: string;
  readonly title: string;
  readonly root: string;
  readonly framers: readonly string[];
  readonly isEmbedded: boolean;
}

/**
 * Replaces the placeholders of an HTML file, such as `{{base}}` (base path of the API), `{{publicPath}}` (path prefix
 * of all pages) and `{{mount}}` (address of the page). Relative links to files are replaced by absolute paths.
 */
export class Template {
  readonly #file: PageFile;
  readonly #name: string;
  readonly #html: string;
  readonly #modules: readonly string[];

  /** @throws Error if a referenced or imported file does not exist */
  constructor(files: PageFiles, name: string, values: Readonly<Record<string, string>> = {}) {
    this.#file = files.get(name)!;
    this.#name = name;
    this.#html = replaceValues(this.#file.bytes.toString(), escaped(values));
    const references = [...this.#html.matchAll(REFERENCE)].map(([, , path = '']) => resolveName(name, path));
    for (const reference of references) {
      if (!files.has(reference))
        throw new Error(`${name} refers to ${reference}, which is not one of the page's files`);
    }
    const scripts = references.filter((reference) => reference.endsWith('.js'));
    this.#modules = [...new Set(scripts.flatMap((script) => importsOf(files, script)))];
  }

  fill(page: FilledPage, context: MountContext): PageFile {
    const { pages, guides } = pagesOf(context);
    const { publicPath } = context;
    const { name, title } = context.info;
    const root = publicPath + page.root;
    const values = escaped({
      service: name,
      owner: title,
      title: page.title,
      base: publicPath + context.basePath,
      mount: publicPath + page.path,
      publicPath,
      root,
      anonymous: context.anonymous ? limitsText(context.anonymous) : '',
      getKey: context.info.getKeyUrl ?? '',
      embeds: page.framers.join(', '),
    });
    const html = replaceValues(this.#html, {
      ...values,
      head: headOf(values),
      preloads: preloadsOf(this.#modules, root),
      links: listOf(
        pages.filter(({ path }) => path !== page.path),
        publicPath,
        page.path,
      ),
      guides: listOf(guides, publicPath, page.path),
      synthetic: syntheticBanner(context),
    });
    const linked = html.replace(
      REFERENCE,
      (_, attribute: string, path: string) => `${attribute}="${values['root']}/${resolveName(this.#name, path)}"`,
    );
    const shown = page.isEmbedded ? linked.replace('<body>', '<body class="embedded">') : linked;
    return { ...this.#file, bytes: Buffer.from(shown) };
  }
}

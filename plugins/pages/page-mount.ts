import { createHash } from 'node:crypto';
import { join, posix } from 'node:path';
import type { FrontPageContent, FrontPageContext, Mount, MountContext } from '../../core/contracts/plugin.js';
import { ApiError, errors } from '../../core/errors.js';
import { Representation } from '../../core/response/representation.js';
import { LruMap } from '../../core/util/lru-map.js';
import { packageRoot } from '../../core/util/package.js';
import { type PageFile, type PageFiles, readPageFiles } from './page-files.js';
import { documents, Template } from './template.js';

/** Allows scripts, styles and requests from the page's origin. Forbids inline code, `eval` and HTML from strings. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/** @param ancestors origins that may embed this page in a frame. Default: none */
const pagePolicy = (ancestors: readonly string[] = []): string =>
  [...POLICY, `frame-ancestors ${ancestors.length > 0 ? ancestors.join(' ') : "'none'"}`].join('; ');

/**
 * Policy sent with the files that a page loads. The browser applies the page's policy to them, so this one can be
 * short.
 */
const FILE_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** Browsers revalidate on every use, so that a new release is visible immediately. Unchanged files cost only a 304. */
const REVALIDATED = 'no-cache';
/** For addresses that contain the digest of all files. The content at such an address never changes. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

export interface Page {
  /** The page's address: `/tables`. */
  readonly path: string;
  /** Used as the text of links to the page, and as the page's name in the log. */
  readonly summary: string;
  /** Folder with the page's own files: `new URL('./browser/', import.meta.url)`. */
  readonly folder: URL;
  /**
   * Path under which the folder's files are served, relative to the page's address. The shared files are served under
   * `pages`, so a script in `tables/browser` imports `../../pages/shared/dom.js`.
   */
  readonly at: string;
  /**
   * Folder of the HTML templates, relative to the page's address, like `at`: `index.html` is served at `path`, and
   * `embed.html` at `path/embed`. Default: `at`.
   */
  readonly templates?: string;
  /** Additional files. Maps names relative to the page's address to paths on disk. */
  readonly files?: Readonly<Record<string, string>>;
  /** Additional values for the templates, by placeholder: `script` for `{{script}}`. */
  readonly values?: Readonly<Record<string, string>>;
  /** Origins that may embed a page in a frame. Keys are page names relative to `path`, such as `embed`. */
  readonly framedBy?: Readonly<Record<string, readonly string[]>>;
  /** Returns the page's contribution to the front page. */
  readonly frontPage?: (context: FrontPageContext) => Promise<FrontPageContent>;
}

/** Maximum number of cached renderings. There is one for each public path, and proxies use only a few paths. */
const MOST_FILLED = 20;

const digestOf = (files: PageFiles): string => {
  const digest = createHash('sha256');
  for (const [name, { bytes }] of files) digest.update(`${name} ${bytes.length} `).update(bytes);
  return digest.digest('base64url').slice(0, 12);
};

/** Returns the templates in a folder by page name. The name of `index.html` is empty. */
const templatesIn = (files: PageFiles, folder: string, values: Page['values']): Map<string, Template> =>
  new Map(
    [...files.keys()]
      .filter((name) => posix.dirname(name) === folder && name.endsWith('.html'))
      .map((name) => [posix.basename(name, '.html').replace(/^index$/, ''), new Template(files, name, values)]),
  );

/**
 * Returns a mount that serves a page with its scripts and styles. All files are read immediately, so the service does
 * not start if one is missing.
 * @throws Error if a file cannot be read or an imported file does not exist
 */
export const pageMount = (page: Page): Mount => {
  const { path, summary, folder, at, templates = at, values = {}, framedBy = {}, frontPage } = page;
  const files = readPageFiles(folder, at, page.files);
  const pages = templatesIn(files, templates, values);
  const version = `v-${digestOf(files)}`;
  const served = new LruMap<string, Representation>(files.size + MOST_FILLED);

  const representationOf = (name: string, source: Template | PageFile, context: MountContext): Representation => {
    const key = source instanceof Template ? `${context.publicPath}:${context.anonymous?.limit}:${name}` : name;
    const known = served.get(key);
    if (known) return known;
    const { bytes, type, modified } =
      source instanceof Template ? source.fill({ path, title: summary, root: `${path}/${version}` }, context) : source;
    const representation = new Representation(bytes, type, { lastModified: modified, head: '' });
    served.set(key, representation);
    return representation;
  };
  return {
    path,
    summary,
    contentSecurityPolicy: pagePolicy(),
    ...(frontPage && { frontPage }),
    handler(ctx, context) {
      // During a rolling update, a page might request files from a different release. Those responses must not be
      // cached.
      const [, requested, name = ''] = /^(?:(v-[\w-]{12})\/)?(.*)$/s.exec(ctx.path.slice(path.length + 1)) ?? [];
      const template = requested === undefined ? pages.get(name) : undefined;
      const source = template ?? (name.endsWith('.html') ? undefined : files.get(name));
      if (!source)
        throw new ApiError(
          errors.route_not_found,
          `There is no such file. The page is at ${context.publicPath}${path}.`,
        );
      const framers = template && framedBy[name];
      if (framers) ctx.set('Content-Security-Policy', pagePolicy(framers));
      if (!template) ctx.set('Content-Security-Policy', FILE_POLICY);
      ctx.set('Cache-Control', requested === version ? IMMUTABLE : REVALIDATED);
      ctx.body = representationOf(name, source, context);
    },
  };
};

const GUIDES = 'pages/guides';

/** Replaces the default script of guides. `folder` and `at` are the same as in `Page`. */
interface GuideScript {
  readonly folder: URL;
  readonly at: string;
  readonly name: string;
}

/**
 * Returns a mount that serves a Markdown document as a web page. The browser formats the Markdown.
 * @param path under the API reference, which lists the guides: `/docs/csv`
 * @param document path of the document in `docs/`: `reference/formats.md`
 */
export const guidePage = (path: string, summary: string, document: string, script?: GuideScript): Mount => {
  const mount = pageMount({
    path,
    summary,
    folder: script?.folder ?? new URL('./guides/', import.meta.url),
    at: script?.at ?? GUIDES,
    templates: GUIDES,
    files: { 'guide.md': join(packageRoot, 'docs', document) },
    values: { script: script ? `../../${script.at}/${script.name}` : './main.js' },
  });
  documents.set(mount, document);
  return mount;
};

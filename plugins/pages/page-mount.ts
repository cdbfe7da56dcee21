/** Serves a page and its files, compressed and with validators. Its policy allows only these files to run. */
import { createHash } from 'node:crypto';
import { join, posix } from 'node:path';
import type { FrontPageContent, FrontPageContext, Mount, MountContext } from '../../core/contracts/plugin.js';
import { ApiError, errors } from '../../core/errors.js';
import { Representation } from '../../core/response/representation.js';
import { LruMap } from '../../core/util/lru-map.js';
import { packageRoot } from '../../core/util/package.js';
import { type PageFile, type PageFiles, readPageFiles } from './page-files.js';
import { documents, Template } from './template.js';

/** Allows scripts, styles and requests of the page's own origin. Forbids inline code, eval and markup from text. */
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

/** @param ancestors origins whose pages may show this page in a frame */
const pagePolicy = (ancestors: readonly string[] = []): string =>
  [...POLICY, `frame-ancestors ${ancestors.length > 0 ? ancestors.join(' ') : "'none'"}`].join('; ');

/** Makes browsers revalidate each time, which costs a request with a 304, so that a new release is visible at once. */
const REVALIDATED = 'no-cache';
/** The caching of addresses that contain the digest of all files, since their content never changes. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

export interface Page {
  /** The address of the page, such as `/tables`. */
  readonly path: string;
  /** The text of links to the page, which is also its name in the log. */
  readonly summary: string;
  /**
   * The folder with the page's own files, relative to the plugin's module: `new URL('./browser/', import.meta.url)`.
   */
  readonly folder: URL;
  /**
   * The location of the folder, relative to the page's address. The shared files are in `pages`, so a script in
   * `tables/browser` imports `../../pages/shared/dom.js`.
   */
  readonly at: string;
  /**
   * The place of the folder with the HTML files, which are templates: `index.html` is served at `path`, `embed.html` at
   * `path/embed`. Default: `at`.
   */
  readonly templates?: string;
  /** Additional files: their names relative to the page's address, and their paths on disk. */
  readonly files?: Readonly<Record<string, string>>;
  /** Additional values for the templates, by the name that is used in braces. */
  readonly values?: Readonly<Record<string, string>>;
  /** Origins that may show a page in a frame, by the page's name below `path`: `embed`. */
  readonly framedBy?: Readonly<Record<string, readonly string[]>>;
  /** What the page contributes to the front page. */
  readonly frontPage?: (context: FrontPageContext) => Promise<FrontPageContent>;
}

/** Number of rendered templates to cache. Proxies report only a few public paths. */
const MOST_FILLED = 20;

const digestOf = (files: PageFiles): string => {
  const digest = createHash('sha256');
  for (const [name, { bytes }] of files) digest.update(`${name} ${bytes.length} `).update(bytes);
  return digest.digest('base64url').slice(0, 12);
};

/** The HTML files of a folder, by the page's name below its address: an empty name for `index.html`. */
const templatesIn = (files: PageFiles, folder: string, values: Page['values']): Map<string, Template> =>
  new Map(
    [...files.keys()]
      .filter((name) => posix.dirname(name) === folder && name.endsWith('.html'))
      .map((name) => [posix.basename(name, '.html').replace(/^index$/, ''), new Template(files, name, values)]),
  );

/**
 * Returns a mount that serves a page. All files are read immediately, so that a missing file or import prevents
 * startup.
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
      // During a rolling release, a page may request files from another release. These responses must not be cached.
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
      ctx.set('Cache-Control', requested === version ? IMMUTABLE : REVALIDATED);
      ctx.body = representationOf(name, source, context);
    },
  };
};

const GUIDES = 'pages/guides';

/** A script that replaces the default script for guides. `folder` and `at` have the same meaning as in `Page`. */
interface GuideScript {
  readonly folder: URL;
  readonly at: string;
  readonly name: string;
}

/**
 * A mount that serves a document of `docs/` as a page. The browser formats the Markdown.
 * @param path under the path of the API reference, which lists the guides: `/docs/csv`
 * @param document the file, relative to `docs/`: `reference/formats.md`
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

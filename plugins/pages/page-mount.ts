/** Serves a page and its files: compressed, with validators, under a policy that runs nothing but these files. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Mount, MountContext } from '../../core/contracts/plugin.js';
import { ApiError, errors } from '../../core/errors.js';
import { Representation } from '../../core/response/representation.js';
import { packageRoot } from '../../core/util/package.js';
import { fillTemplate } from './template.js';

/** Scripts, styles and calls of the page's own origin; nothing inline, no eval, no markup made from text. */
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

/** @param ancestors the origins whose pages may show this one inside of theirs */
export const pagePolicy = (ancestors: readonly string[] = []): string =>
  [...POLICY, `frame-ancestors ${ancestors.length > 0 ? ancestors.join(' ') : "'none'"}`].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.md': 'text/markdown; charset=utf-8',
};

/** Browsers ask each time whether the file has changed, which costs a 304, so that a new release shows at once. */
const CHECKED = 'no-cache';
/** For URLs with the digest of all files, whose content never changes. */
const KEPT = 'public, max-age=31536000, immutable';

export interface Page {
  /** Where it is mounted: `/docs`. */
  readonly path: string;
  /** The text of links to the page, and its name in the log. */
  readonly summary: string;
  /**
   * Folders of `plugins/` whose files are served below the path, beside those of `pages/shared`; of two files with one name, the
   * later one. HTML files are templates: `index.html` is at the path itself, others are below it by their name without
   * `.html`.
   */
  readonly folders: readonly string[];
  /** Further files, by their name below the path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Further values for its templates, by their name in braces. */
  readonly values?: Readonly<Record<string, string>>;
  /** Origins whose pages may frame a page, by its name. */
  readonly framedBy?: Readonly<Record<string, readonly string[]>>;
}

const PLUGINS = join(packageRoot, 'plugins');

/** The files of a folder of `plugins/` by name. */
const filesIn = (folder: string): (readonly [name: string, path: string])[] =>
  readdirSync(join(PLUGINS, folder), { withFileTypes: true }).flatMap(({ name, parentPath }) =>
    extname(name) in TYPES ? [[name, join(parentPath, name)] as const] : [],
  );

/**
 * A mount that serves a page. Files are read at once, so that a missing one stops the start.
 * @throws Error of `node:fs` for a file that cannot be read
 */
export const pageMount = ({ path, summary, folders, files = {}, values = {}, framedBy = {} }: Page): Mount => {
  const contents = new Map(
    [...['pages/shared', ...folders].flatMap(filesIn), ...Object.entries(files)].map(([name, file]) => [
      name,
      { bytes: readFileSync(file), modified: statSync(file).mtime, type: TYPES[extname(name)]! },
    ]),
  );
  const digest = createHash('sha256');
  for (const [name, { bytes }] of contents) digest.update(`${name} ${bytes.length} `).update(bytes);
  const version = `v-${digest.digest('base64url').slice(0, 12)}`;
  const served = new Map<string, Representation>();
  const representationOf = (name: string, context: MountContext): Representation => {
    const known = served.get(name);
    if (known) return known;
    const content = contents.get(name);
    if (!content) throw new ApiError(errors.route_not_found, `There is no such file. The page is at ${path}.`);
    const { bytes, modified, type } = content;
    const about = { path, title: summary, folder: `${path}/${version}`, files: [...contents.keys()] };
    const page = () => fillTemplate(bytes.toString(), about, context, values);
    const body = name.endsWith('.html') ? Buffer.from(page()) : bytes;
    const representation = new Representation(body, type, { lastModified: modified, head: '' });
    served.set(name, representation);
    return representation;
  };
  return {
    path,
    summary,
    contentSecurityPolicy: pagePolicy(),
    handler(ctx, context) {
      // During a rolling release, a page may request files of another release: they are sent, but not to be cached.
      const [, asked, rest] = /^(?:(v-[\w-]{12})\/)?(.*)$/s.exec(ctx.path.slice(path.length + 1)) ?? [];
      const name = contents.has(`${rest}.html`) ? `${rest}.html` : rest || 'index.html';
      const representation = representationOf(name, context);
      const framers = framedBy[name];
      if (framers) ctx.set('Content-Security-Policy', pagePolicy(framers));
      ctx.set('Cache-Control', asked === version && !name.endsWith('.html') ? KEPT : CHECKED);
      ctx.body = representation;
    },
  };
};

/**
 * A document of `docs/` as a page below the reference: the file itself, set by the browser.
 * @param document the name of the file
 * @param folder of `plugins/` with files in the place of those of other guides, or beside them
 */
export const guidePage = (path: string, summary: string, document: string, folder?: string): Mount =>
  pageMount({
    path,
    summary,
    folders: folder === undefined ? ['pages/guides'] : ['pages/guides', folder],
    files: { 'guide.md': join(packageRoot, 'docs', document) },
  });

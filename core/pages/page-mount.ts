import { createHash } from 'node:crypto';
import { join, posix } from 'node:path';
import type { FrontPageContent, FrontPageContext, Mount, MountContext } from '../contracts/plugin.js';
import { ApiError, errors } from '../errors.js';
import { Representation } from '../response/representation.js';
import { LruMap } from '../util/lru-map.js';
import { packageRoot } from '../util/package.js';
import { type PageFile, type PageFiles, readPageFiles } from './page-files.js';
import { syntheticBanner, Template } from './template.js';

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

/**
 * Returns the content security policy of a page.
 * @param ancestors origins that may show the page in a frame. Default: none. `*` omits the directive `frame-ancestors`,
 *   because `frame-ancestors *` does not allow frames in local HTML files
 */
const pagePolicy = (ancestors: readonly string[] = []): string => {
  const framing = ancestors.includes('*') ? [] : [`frame-ancestors ${ancestors.join(' ') || "'none'"}`];
  return [...POLICY, ...framing].join('; ');
};

/** Content security policy of a script, style or image that a user opens directly. On a page, the policy of the page applies. */
const FILE_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** Browsers check for changes on every use, so that users see a new release immediately. */
const REVALIDATED = 'no-cache';
/** The address of a file contains a digest of all files, so the content of an address never changes. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

export const embedOptions = {
  frameAncestors: {
    description:
      'Origins that may embed figures in a frame, such as https://example.com. Default: all origins if `auth.anonymous` is set, and otherwise none.',
    type: 'array',
    items: { type: 'string', pattern: "^(https?://[^\\s;,'*]+|'self')$" },
  },
} as const;

interface EmbedOptions {
  readonly frameAncestors?: readonly string[];
}

interface Page {
  readonly path: string;
  readonly summary: string;
  /** Folder of the page's files, such as `new URL('./browser/', import.meta.url)`. */
  readonly folder: URL;
  /** Path of the folder below the address of the page, such as `plugins/tables/browser`. */
  readonly at: string;
  /** Path of the folder with `index.html` below the address of the page. Default: `at`. */
  readonly templates?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly values?: Readonly<Record<string, string>>;
  /** If set, the page is also served at `path/embed`, without its header, for frames on other sites. */
  readonly embed?: EmbedOptions;
  readonly frontPage?: (context: FrontPageContext) => Promise<FrontPageContent>;
}

const framersOf = (embed: EmbedOptions | undefined, { anonymous }: MountContext): readonly string[] =>
  embed?.frameAncestors ?? (embed && anonymous ? ['*'] : []);

/** The cache holds a page and its embedded version for each public path. Proxies use only a few public paths. */
const MOST_FILLED = 20;

const digestOf = (files: PageFiles): string => {
  const digest = createHash('sha256');
  for (const [name, { bytes }] of files) digest.update(`${name} ${bytes.length} `).update(bytes);
  return digest.digest('base64url').slice(0, 12);
};

/**
 * Reads all files immediately, so that the service does not start if a file is missing.
 * @throws Error if a file cannot be read or an imported file does not exist
 */
export const pageMount = (page: Page): Mount => {
  const { path, summary, folder, at, templates = at, embed, frontPage } = page;
  const files = readPageFiles(folder, at, page.files);
  const template = new Template(files, posix.join(templates, 'index.html'), page.values);
  const version = `v-${digestOf(files)}`;
  const served = new LruMap<string, Representation>(files.size + MOST_FILLED);

  const representationOf = (key: string, read: () => PageFile): Representation => {
    const known = served.get(key);
    if (known) return known;
    const { bytes, type, modified } = read();
    const representation = new Representation(bytes, type, { lastModified: modified, head: '' });
    served.set(key, representation);
    return representation;
  };
  return {
    path,
    summary,
    contentSecurityPolicy: pagePolicy(),
    page: 'main',
    ...(frontPage && { frontPage }),
    handler(ctx, context) {
      // During a rolling update, a page can request files of another release. Caches must revalidate such a response.
      const [, requested, name = ''] = /^(?:(v-[\w-]{12})\/)?(.*)$/s.exec(ctx.path.slice(path.length + 1)) ?? [];
      const isEmbedded = embed !== undefined && name === 'embed';
      ctx.set('Cache-Control', requested === version ? IMMUTABLE : REVALIDATED);
      if (requested === undefined && (name === '' || isEmbedded)) {
        const framers = framersOf(embed, context);
        if (isEmbedded) ctx.set('Content-Security-Policy', pagePolicy(framers));
        ctx.body = representationOf(
          `${context.publicPath}:${context.anonymous?.limit}:${syntheticBanner(context)}:${name}`,
          () => template.fill({ path, title: summary, root: `${path}/${version}`, framers, isEmbedded }, context),
        );
        return;
      }
      const file = name.endsWith('.html') ? undefined : files.get(name);
      if (!file)
        throw new ApiError(
          errors.route_not_found,
          `There is no such file. The page is at ${context.publicPath}${path}.`,
        );
      ctx.set('Content-Security-Policy', FILE_POLICY);
      ctx.body = representationOf(name, () => file);
    },
  };
};

const GUIDES = 'core/pages/guides';

interface GuideScript {
  readonly folder: URL;
  readonly at: string;
  readonly name: string;
}

/**
 * Serves a Markdown document as a web page.
 * @param path path of the page, such as `/docs/csv`
 * @param document path below `docs/`, such as `reference/formats.md`
 */
export const guidePage = (path: string, summary: string, document: string, script?: GuideScript): Mount => {
  return {
    ...pageMount({
      path,
      summary,
      folder: script?.folder ?? new URL('./guides/', import.meta.url),
      at: script?.at ?? GUIDES,
      templates: GUIDES,
      files: { 'guide.md': join(packageRoot, 'docs', document) },
      values: { script: script ? `../../../${script.at}/${script.name}` : './main.js' },
    }),
    page: 'guide',
    document,
  };
};

import { createHash } from 'node:crypto';
import { join, posix } from 'node:path';
import type { FrontPageContent, FrontPageContext, Mount, MountContext } from '../../core/contracts/plugin.js';
import { ApiError, errors } from '../../core/errors.js';
import { Representation } from '../../core/response/representation.js';
import { LruMap } from '../../core/util/lru-map.js';
import { packageRoot } from '../../core/util/package.js';
import { type PageFile, type PageFiles, readPageFiles } from './page-files.js';
import { documents, Template } from './template.js';

/**
 * Allows scripts, styles and requests only from the page's origin. Forbids inline code, `eval` and HTML from strings.
 */
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
 * Without `frame-ancestors`, files on disk can also embed the page. `frame-ancestors *` would exclude them.
 * @param ancestors origins that may show this page in a frame, or `*`. Default: none
 */
const pagePolicy = (ancestors: readonly string[] = []): string => {
  const framing = ancestors.includes('*') ? [] : [`frame-ancestors ${ancestors.join(' ') || "'none'"}`];
  return [...POLICY, ...framing].join('; ');
};

/**
 * Policy for scripts, styles and other files. It applies only if a file is opened directly. A file that a page loads is
 * subject to the policy of the page.
 */
const FILE_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** Browsers revalidate on every use, so that users see a new release immediately. Unchanged files cost only a 304. */
const REVALIDATED = 'no-cache';
/** For files whose address contains the digest of all files. The content at such an address never changes. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** JSON Schema of `EmbedOptions`, for the options of plugins. */
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
  /** Text of links to the page, and its name in the log. */
  readonly summary: string;
  /** Folder with the page's own files, such as `new URL('./browser/', import.meta.url)`. */
  readonly folder: URL;
  /**
   * Path of the folder's files, relative to the address of the page. The shared files are in `pages`, so a script in
   * `tables/browser` imports `../../pages/shared/dom.js`.
   */
  readonly at: string;
  /** Folder of the template `index.html`, relative to the address of the page. Default: `at`. */
  readonly templates?: string;
  /** Paths of additional files on disk, by their name relative to the address of the page. */
  readonly files?: Readonly<Record<string, string>>;
  /** Additional values for the templates, by placeholder. The key `script` replaces `{{script}}`. */
  readonly values?: Readonly<Record<string, string>>;
  /** If present, the page is also served at `path/embed`, without its header, for frames on other sites. */
  readonly embed?: EmbedOptions;
  readonly frontPage?: (context: FrontPageContext) => Promise<FrontPageContent>;
}

const framersOf = (embed: EmbedOptions | undefined, { anonymous }: MountContext): readonly string[] =>
  embed?.frameAncestors ?? (embed && anonymous ? ['*'] : []);

/** Maximum number of cached pages, at most two for each public path. Proxies use only a few paths. */
const MOST_FILLED = 20;

const digestOf = (files: PageFiles): string => {
  const digest = createHash('sha256');
  for (const [name, { bytes }] of files) digest.update(`${name} ${bytes.length} `).update(bytes);
  return digest.digest('base64url').slice(0, 12);
};

/**
 * Reads the files immediately, so that the service does not start if a file is missing.
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
    ...(frontPage && { frontPage }),
    handler(ctx, context) {
      // During a rolling update, a page can request files of another release. The response must not be cached under
      // that address.
      const [, requested, name = ''] = /^(?:(v-[\w-]{12})\/)?(.*)$/s.exec(ctx.path.slice(path.length + 1)) ?? [];
      const isEmbedded = embed !== undefined && name === 'embed';
      ctx.set('Cache-Control', requested === version ? IMMUTABLE : REVALIDATED);
      if (requested === undefined && (name === '' || isEmbedded)) {
        const framers = framersOf(embed, context);
        if (isEmbedded) ctx.set('Content-Security-Policy', pagePolicy(framers));
        ctx.body = representationOf(`${context.publicPath}:${context.anonymous?.limit}:${name}`, () =>
          template.fill({ path, title: summary, root: `${path}/${version}`, framers, isEmbedded }, context),
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

const GUIDES = 'pages/guides';

/** Replaces the default script of guides. `folder` and `at` have the same meaning as in `Page`. */
interface GuideScript {
  readonly folder: URL;
  readonly at: string;
  readonly name: string;
}

/**
 * Creates a mount that serves a Markdown document as a web page. A script in the browser formats the Markdown.
 * @param path path below the API reference, such as `/docs/csv`
 * @param document path of the document in `docs/`, such as `reference/formats.md`
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

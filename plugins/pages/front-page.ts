/** Serves the front page at `/` as HTML or JSON, with links to the pages, the OpenAPI document and the status. */
import { createHash } from 'node:crypto';
import { definePlugin, type MountContext } from '../../core/contracts/plugin.js';
import { ApiError, errors } from '../../core/errors.js';
import { jsonRepresentation, mediaTypeChooser, Representation } from '../../core/response/representation.js';
import { LruMap } from '../../core/util/lru-map.js';
import { packageVersion } from '../../core/util/package.js';
import { escapeHtml, pagesOf } from './template.js';

/** A link. Its relations are defined by RFC 8631 and, for `terms-of-service`, by RFC 6903. */
interface Link {
  readonly rel: 'service-desc' | 'service-doc' | 'status' | 'terms-of-service';
  readonly href: string;
  readonly title: string;
}

/** The routes to which the front page links, by operationId. */
const ROUTES: Readonly<Record<string, Link['rel']>> = { getOpenApi: 'service-desc', getStatus: 'status' };

const linksOf = (context: MountContext): Link[] => {
  const { routes, basePath, publicPath, info } = context;
  const ofRoutes = routes.flatMap(({ operationId, path, summary }) => {
    const rel = Object.hasOwn(ROUTES, operationId) ? ROUTES[operationId] : undefined;
    return rel ? [{ rel, href: `${publicPath}${basePath}${path}`, title: summary }] : [];
  });
  const { pages, guides } = pagesOf(context);
  const ofPages = [...pages, ...guides].map(({ path, summary }) => ({
    rel: 'service-doc' as const,
    href: publicPath + path,
    title: summary,
  }));
  const { termsOfService } = info;
  const terms = { rel: 'terms-of-service' as const, href: termsOfService ?? '', title: 'Terms of service' };
  return [...ofPages, ...ofRoutes, ...(termsOfService === null ? [] : [terms])];
};

const STYLE =
  ':root{color-scheme:light dark}' +
  'body{margin:0 auto;max-width:40rem;padding:3rem 1rem;font:1rem/1.6 system-ui,sans-serif}' +
  'h1 small{font-weight:normal;opacity:.7}';

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const htmlOf = ({ title, version, summary }: MountContext['info'], links: readonly Link[]): string => {
  const items = links.map(
    ({ rel, href, title }) => `<li><a rel="${rel}" href="${escapeHtml(href)}">${escapeHtml(title)}</a></li>`,
  );
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeHtml(title)}</title>
    <style>${STYLE}</style>
  </head>
  <body>
    <main>
      <h1>${escapeHtml(title)} <small>${escapeHtml(version)}</small></h1>
      ${summary === '' ? '' : `<p>${escapeHtml(summary)}</p>`}
      <ul>
        ${items.join('\n        ')}
      </ul>
    </main>
  </body>
</html>
`;
};

/** Number of public paths to cache. Proxies report only a few. */
const MOST_PATHS = 10;

const HTML = { mediaTypes: ['text/html'] } as const;
/** JSON is the default. Browsers prefer HTML. */
const choose = mediaTypeChooser([{ mediaTypes: ['application/json'] }, HTML]);

const representationsOf = (context: MountContext) => {
  const { title, version, summary } = context.info;
  const links = linksOf(context);
  const options = { lastModified: new Date(), head: '' };
  return {
    html: new Representation(Buffer.from(htmlOf(context.info, links)), 'text/html; charset=utf-8', options),
    json: jsonRepresentation({ title, version, summary, links }, options),
  };
};

export default definePlugin({
  name: 'front-page',
  version: packageVersion,
  description: 'Links to the pages, the OpenAPI document and the status, at /.',
  routes: () => [],
  mounts() {
    const made = new LruMap<string, ReturnType<typeof representationsOf>>(MOST_PATHS);
    return [
      {
        path: '/',
        summary: 'Front page',
        handler(ctx, context) {
          const chosen = choose(ctx.req.headers.accept);
          if (!chosen) throw new ApiError(errors.not_acceptable);
          const { publicPath } = context;
          const representations = made.get(publicPath) ?? representationsOf(context);
          made.set(publicPath, representations);
          ctx.set('Cache-Control', 'no-cache');
          if (chosen === HTML) ctx.set('Content-Security-Policy', POLICY);
          ctx.body = chosen === HTML ? representations.html : representations.json;
        },
      },
    ];
  },
});

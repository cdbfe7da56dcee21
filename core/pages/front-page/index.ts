import { definePlugin, type Mount, type MountContext } from '../../contracts/plugin.js';
import { ApiError, errors } from '../../errors.js';
import { jsonRepresentation, mediaTypeChooser, Representation } from '../../response/representation.js';
import { LruMap } from '../../util/lru-map.js';
import { packageVersion } from '../../util/package.js';
import { descriptionMounts } from '../descriptions/index.js';
import { pageMount } from '../page-mount.js';
import { pagesOf, SIGN_IN } from '../pages.js';
import { type ContentReader, contentReader } from './content.js';
import { contentFile } from './content-file.js';
import { frontPageHtml, frontPagePolicy } from './page.js';
import { pngOf } from './png.js';
import { figureOf } from './site.js';
import { lightColors } from './styles.js';

/** RFC 8631 defines the link relations, except `terms-of-service`, which RFC 6903 defines. */
interface Link {
  readonly rel: 'service-desc' | 'service-doc' | 'status' | 'terms-of-service';
  readonly href: string;
  readonly title: string;
}

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

/** The cache holds one page for each public path. Proxies use only a few public paths. */
const MOST_VERSIONS = 10;

const HTML = { mediaTypes: ['text/html'] } as const;
/** Browsers get HTML because of their `Accept` header. Other clients get JSON. */
const choose = mediaTypeChooser([{ mediaTypes: ['application/json'] }, HTML]);

const frontPage = (readContent: ContentReader): Mount => {
  const pages = new LruMap<string, Representation>(MOST_VERSIONS);
  const represent = (key: string, build: () => Representation): Representation => {
    const known = pages.get(key);
    if (known) return known;
    const representation = build();
    pages.set(key, representation);
    return representation;
  };
  const jsonOf = (context: MountContext): Representation => {
    const { title, version, summary } = context.info;
    const data = { title, version, summary, links: linksOf(context) };
    return jsonRepresentation(data, { lastModified: context.state.startedAt, head: '' });
  };
  return {
    path: '/',
    summary: 'Front page',
    async handler(ctx, context) {
      const chosen = choose(ctx.req.headers.accept);
      if (!chosen) throw new ApiError(errors.not_acceptable);
      ctx.set('Cache-Control', 'no-cache');
      if (chosen !== HTML) {
        ctx.body = represent(`json ${context.publicPath}`, () => jsonOf(context));
        return;
      }
      const content = await readContent(context);
      ctx.set('Content-Security-Policy', frontPagePolicy);
      ctx.body = represent(content.version, () => {
        const options = { lastModified: context.state.now, head: '' };
        return new Representation(Buffer.from(frontPageHtml(context, content)), 'text/html; charset=utf-8', options);
      });
    },
  };
};

const picture = (readContent: ContentReader): Mount =>
  contentFile(readContent, {
    path: '/front-page.png',
    summary: 'Preview image for links to the front page',
    cacheControl: 'public, max-age=3600',
    build({ state }, content) {
      const figure = figureOf(content);
      if (!figure) throw new ApiError(errors.route_not_found);
      const options = { lastModified: state.now, head: '', isCompressed: true };
      return new Representation(pngOf(figure.drawing, lightColors), 'image/png', options);
    },
  });

export default definePlugin({
  name: 'front-page',
  version: packageVersion,
  description: 'The front page, the sign-in page, and data descriptions for search engines and programs.',
  routes: () => [],
  mounts() {
    const readContent = contentReader();
    return [
      frontPage(readContent),
      picture(readContent),
      {
        ...pageMount({
          path: SIGN_IN,
          summary: 'Sign in',
          folder: new URL('./browser/', import.meta.url),
          at: 'core/pages/front-page/browser',
        }),
        page: 'unlisted',
      },
      ...descriptionMounts(readContent),
    ];
  },
});

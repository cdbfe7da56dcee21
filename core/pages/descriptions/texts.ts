import type { MountContext } from '../../contracts/plugin.js';
import { ApiError, errors } from '../../errors.js';
import { escapeHtml } from '../../util/escape-html.js';
import type { Content } from '../front-page/content.js';
import { pagesOf } from '../pages.js';

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** Writes `/llms.txt` in the format of https://llmstxt.org. */
export const llmsText = (context: MountContext, { catalog: { datasets, document } }: Content): string => {
  const { info, publicUrl, basePath, anonymous } = context;
  const base = `${publicUrl}${basePath}`;
  const { pages, guides } = pagesOf(context);
  const getKey = info.getKeyUrl === null ? '' : ` Get a key at ${info.getKeyUrl}.`;
  const listed = new Set(datasets.map(({ path }) => path));
  const others = Object.keys(document.paths).filter((path) => !listed.has(path));
  return [
    `# ${info.title}`,
    ...(info.summary === '' ? [] : [`> ${oneLine(info.summary)}`]),
    ...(info.description === '' ? [] : [info.description]),
    ...(info.instructions === '' ? [] : [oneLine(info.instructions)]),
    '## Access',
    anonymous
      ? `Without a key, up to ${anonymous.limit} requests per minute are allowed. A key is sent as \`Authorization: Bearer API_KEY\`.${getKey}`
      : `Requests require the header \`Authorization: Bearer API_KEY\`.${getKey}`,
    '## Data',
    datasets
      .map(
        ({ path, title, columns }) =>
          `- [${path}](${base}${path}): ${oneLine(title)}. Columns: ${columns.map(({ name }) => name).join(', ')}`,
      )
      .join('\n'),
    '## Other endpoints',
    others.map((path) => `- \`${base}${path}\`: ${oneLine(document.paths[path].get.summary)}`).join('\n'),
    '## Documentation',
    [
      `- [OpenAPI document](${base}/openapi.json)`,
      ...[...pages, ...guides].map(({ path, summary }) => `- [${summary}](${publicUrl}${path})`),
    ].join('\n'),
  ].join('\n\n');
};

export const robotsText = ({ publicUrl, publicPath, basePath }: MountContext): string =>
  [
    'User-agent: *',
    ...(basePath === '' ? [] : [`Disallow: ${publicPath}${basePath}/`]),
    'Allow: /',
    ...(publicUrl.startsWith('http') ? ['', `Sitemap: ${publicUrl}/sitemap.xml`] : []),
  ].join('\n');

/** Sitemaps must contain absolute addresses. @throws ApiError if `server.publicUrl` is not set */
export const sitemap = (context: MountContext): string => {
  const { publicUrl, state } = context;
  if (!publicUrl.startsWith('http')) {
    throw new ApiError(errors.route_not_found, 'There is no sitemap, because server.publicUrl is not set.');
  }
  const { pages, guides } = pagesOf(context);
  const modified = state.snapshot ? `<lastmod>${state.snapshot.publishedAt.toISOString().slice(0, 10)}</lastmod>` : '';
  const urls = ['/', ...[...pages, ...guides].map(({ path }) => path)].map(
    (path) => `  <url><loc>${escapeHtml(publicUrl + path)}</loc>${modified}</url>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join('\n')}
</urlset>`;
};

import { createHash } from 'node:crypto';
import type { MountContext } from '../../contracts/plugin.js';
import { dataCatalog } from '../descriptions/schema-org.js';
import { pagesOf } from '../pages.js';
import { syntheticBanner } from '../template.js';
import type { Content } from './content.js';
import { html, Markup } from './markup.js';
import { dataSection, figureSection, findingsSection, offerSection, statusSection } from './sections.js';
import { figureOf, keySource, link, mountAt, partsOf, type Site, statusHref } from './site.js';
import { styles } from './styles.js';

export const frontPagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(styles).digest('base64')}'`,
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Maximum length of the JSON-LD in characters. Longer JSON-LD omits the columns of the datasets. */
const MOST_JSON = 48 * 1024;

const jsonLd = (site: Site): Markup => {
  const whole = dataCatalog(site, site.content);
  const { recordSet, ...short } = whole;
  const text = JSON.stringify(whole);
  return new Markup((text.length > MOST_JSON ? JSON.stringify(short) : text).replaceAll('<', '\\u003c'));
};

const headOf = (site: Site): Markup => {
  const { info, publicUrl, content } = site;
  const { title, summary } = info;
  const figure = figureOf(content);
  const description = partsOf(site).findings[0]?.sentence ?? summary;
  const picture =
    figure &&
    html`
    <meta property="og:image" content="${publicUrl}/front-page.png">
    <meta property="og:image:width" content="1200">
    <meta property="og:image:height" content="630">
    <meta property="og:image:alt" content="${figure.description}">
    <meta name="twitter:card" content="summary_large_image">`;
  return html`<meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <meta name="description" content="${description}">
    <link rel="canonical" href="${publicUrl}/">
    <meta property="og:type" content="website">
    <meta property="og:title" content="${title}">
    <meta property="og:description" content="${description}">
    <meta property="og:url" content="${publicUrl}/">${picture}
    <link rel="icon" href="${site.publicPath}/sign-in/core/pages/shared/icon.svg">
    <style>${new Markup(styles)}</style>
    <script type="application/ld+json">${jsonLd(site)}</script>`;
};

const headerOf = (site: Site): Markup => {
  const { pages } = pagesOf(site);
  const status = site.content.status && statusHref(site);
  return html`<header class="top">
      <span class="brand">${site.info.title}</span>
      <nav aria-label="Pages">
        ${pages.map(({ path, summary }) => link(site, path, summary))}
        ${partsOf(site).views.map(({ title, href }) => link(site, href, title))}
        ${status && link(site, status, 'Status')}
      </nav>
      ${link(site, '/sign-in', site.anonymous ? 'Use a key' : 'Sign in')}
    </header>`;
};

const searchOf = (site: Site): Markup | undefined => {
  const { search } = partsOf(site);
  return (
    search &&
    html`<search><form action="${site.publicPath}${search.path}" class="search">
        <label for="q">${search.label}</label>
        <input id="q" name="q" type="search" autocomplete="off" spellcheck="false" placeholder="${search.placeholder}">
        <button>Search</button>
      </form></search>`
  );
};

const button = ({ publicPath }: Site, href: string, text: string, style = 'button'): Markup =>
  html`<a class="${style}" href="${href.startsWith('/') ? publicPath : ''}${href}">${text}</a>`;

const introOf = (site: Site): Markup => {
  const { title, summary } = site.info;
  const page = pagesOf(site).pages.find(({ frontPage }) => frontPage !== undefined);
  const docs = mountAt(site, '/docs');
  const source = keySource(site);
  return html`<section class="intro">
        <h1>${title}</h1>
        ${summary !== '' && html`<p class="summary">${summary}</p>`}
        ${searchOf(site)}
        <p class="actions">
          ${page && button(site, page.path, `Open the ${page.summary.toLowerCase()}`)}
          ${docs && button(site, docs.path, `Read the ${docs.summary}`, 'button quiet')}
          ${!site.anonymous && source !== undefined && button(site, source, 'Get a key', 'button quiet')}
        </p>
      </section>`;
};

/** A wide window shows the figure next to the title, so that visitors see data first. */
const leadOf = (site: Site): Markup => {
  const figure = figureSection(site);
  return figure ? html`<div class="lead">${introOf(site)}${figure}</div>` : introOf(site);
};

const footerOf = (site: Site): Markup => {
  const { info, publicUrl, state } = site;
  const attributions = new Set(
    (state.snapshot?.manifest.sources ?? []).flatMap(({ attribution }) => attribution ?? []),
  );
  const { license, termsOfService, contact } = info;
  const licence =
    license &&
    (license.url === undefined
      ? html`Licence: ${license.name}. `
      : html`Licence: <a href="${license.url}">${license.name}</a>. `);
  return html`<footer>
      ${[...attributions].map((text) => html`<p>${text}</p>`)}
      <p>${licence}${termsOfService !== null && html`<a href="${termsOfService}">Terms of service</a>. `}${contact.email !== undefined && html`<a href="mailto:${contact.email}">Contact</a>. `}</p>
      <nav aria-label="Descriptions for programs">
        ${pagesOf(site).guides.map(({ path, summary }) => link(site, path, summary))}
        ${link(site, '/datapackage.json', 'Data Package')}
        ${link(site, '/dataset.jsonld', 'Croissant')}
        ${link(site, '/dcat.jsonld', 'DCAT')}
        ${link(site, '/llms.txt', 'llms.txt')}
      </nav>
      ${publicUrl.startsWith('http') && html`<p class="on-paper">${publicUrl}/</p>`}
    </footer>`;
};

export const frontPageHtml = (context: MountContext, content: Content): string => {
  const site: Site = { ...context, content } as Site;
  return html`<!doctype html>
<html lang="en">
  <head>
    ${headOf(site)}
  </head>
  <body>
    <a class="skip" href="#main">Skip to content</a>
    ${headerOf(site)}
    ${new Markup(syntheticBanner(context))}
    <main id="main">
      ${[leadOf, findingsSection, offerSection, dataSection, statusSection].map((section) => section(site))}
    </main>
    ${footerOf(site)}
  </body>
</html>
`.text;
};

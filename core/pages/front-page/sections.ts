import type { Finding, FrontPageItem } from '../../contracts/plugin.js';
import { limitsText } from '../template.js';
import type { Status } from './content.js';
import { html, type Markup } from './markup.js';
import { count, keySource, link, mountAt, partsOf, type Site, statusHref } from './site.js';
import { svgOf } from './svg.js';

const findingOf = (site: Site, { figure, sentence, href }: Finding): Markup =>
  html`<li><strong>${figure}</strong><span>${href === undefined ? sentence : link(site, href, sentence)}</span></li>`;

export const findingsSection = (site: Site): Markup | undefined => {
  const { findings, about } = partsOf(site);
  if (findings.length === 0) return undefined;
  return html`<section aria-labelledby="findings">
        <h2 id="findings">What the data shows</h2>
        <ul class="findings">${findings.map((finding) => findingOf(site, finding))}</ul>
        ${about.length > 0 && html`<p class="note">${about.join(' ')}</p>`}
      </section>`;
};

const swatch = (color: string): Markup =>
  html`<svg width="18" height="12" aria-hidden="true"><rect width="18" height="12" fill="var(--${color})"/></svg>`;

const isLate = ({ state }: Status['sources'][number]): boolean => state === 'late' || state === 'stale';

const overdueNote = ({ content: { status } }: Site, ids: readonly string[] = []): Markup | undefined => {
  const late = status?.sources.find(
    (source) => ids.includes(source.id) && isLate(source) && source.age_seconds !== null,
  );
  if (!status || !late) return undefined;
  const due = Date.parse(status.generated_at) + 1000 * (late.late_after_seconds - late.age_seconds!);
  const month = new Date(due).toLocaleDateString('en-US', { month: 'long', year: 'numeric', timeZone: 'UTC' });
  return html`<p class="overdue">An update of the data was due in ${month}.</p>`;
};

export const figureSection = (site: Site): Markup | undefined => {
  const { figure } = partsOf(site);
  if (!figure) return undefined;
  const { title, description, drawing, legend = [], note, sources, href } = figure;
  const classes = legend.map(({ color, label }) => html`<li>${swatch(color)} ${label}</li>`);
  return html`<figure aria-labelledby="figure">
        <figcaption><h2 id="figure">${title}</h2></figcaption>
        ${overdueNote(site, sources)}
        <p class="hidden-text">${description}</p>
        ${svgOf(drawing, site.publicPath)}
        ${classes.length > 0 && html`<ul class="legend">${classes}</ul>`}
        <p class="note">${note} ${link(site, href, 'Explore this figure')}</p>
      </figure>`;
};

const cardOf = (site: Site, { title, text, href }: FrontPageItem): Markup =>
  html`<li>${link(site, href, title)}<span>${text}</span></li>`;

/** Maximum number of lists on the front page. The API reference contains all lists. */
const MOST_LISTS = 6;

export const offerSection = (site: Site): Markup | undefined => {
  const { datasets } = site.content.catalog;
  const { items } = partsOf(site);
  if (items.length > 0) {
    return html`<section aria-labelledby="offer">
        <h2 id="offer">Tables</h2>
        <ul class="cards">${items.map((item) => cardOf(site, item))}</ul>
      </section>`;
  }
  if (datasets.length === 0) return undefined;
  const docs = mountAt(site, '/docs');
  const cards = datasets.slice(0, MOST_LISTS).map(({ path, operationId, title, columns }) => {
    const name = html`<code>${path}</code>`;
    const heading = docs ? link(site, `${docs.path}#/${operationId}`, name) : name;
    return html`<li>${heading}<span>${title}. ${count(columns.length)} ${columns.length === 1 ? 'column' : 'columns'}.</span></li>`;
  });
  return html`<section aria-labelledby="offer">
        <h2 id="offer">Published data</h2>
        <ul class="cards">${cards}</ul>
        ${docs && html`<p class="note">${link(site, docs.path, 'All endpoints with their parameters and columns')}</p>`}
      </section>`;
};

const guideTo = (site: Site, path: string, text: string): Markup | undefined =>
  mountAt(site, path) && html` ${link(site, path, text)}.`;

const commandOf = ({ content, publicUrl }: Site): string | undefined => {
  const [dataset] = content.catalog.datasets;
  // Without `server.publicUrl`, the origin is unknown, so the command would not work.
  if (!dataset || !publicUrl.startsWith('http')) return undefined;
  const key = dataset.isOpen ? '' : '-H "Authorization: Bearer $API_KEY" ';
  return `curl ${key}'${dataset.distributions[0]!.url}'`;
};

const access = (site: Site): Markup => {
  const { anonymous, info } = site;
  const source = keySource(site);
  const get =
    source === undefined
      ? html`${info.contact.name ?? 'The operator of this service'} issues keys.`
      : html`<a href="${source}">Get a key</a>.`;
  return anonymous
    ? html`<p class="note">You can read without a key, up to ${limitsText(anonymous)}. A key has its own limits. ${get}</p>`
    : html`<p class="note">Requests require an API key. ${get} ${link(site, '/sign-in', 'Sign in with a key')} to see the data in this browser.</p>`;
};

const formatsText = ({ content }: Site): Markup => {
  const formats = content.catalog.datasets.flatMap(({ distributions }) => distributions.map(({ format }) => format));
  const names = [...new Set(formats)].filter((name) => name !== 'json');
  const separator = (i: number) => (i === 0 ? '' : i < names.length - 1 ? ', ' : ' or ');
  return html`${names.map((name, i) => html`${separator(i)}<code>${i === 0 ? '?format=' : ''}${name}</code>`)}`;
};

export const dataSection = (site: Site): Markup => {
  const command = commandOf(site);
  const tools = mountAt(site, '/mcp');
  const summary = link(site, '/llms.txt', 'llms.txt');
  return html`<section aria-labelledby="data">
        <h2 id="data">Get the data</h2>
        <ul class="cards ways">
          <li><h3>API</h3><p>JSON over HTTP, with filters, sorting and paging.${guideTo(site, '/docs/calling', 'Python, R and more')} ${link(site, `${site.basePath}/openapi.json`, 'OpenAPI document')}.</p></li>
          <li><h3>CSV and Parquet</h3><p>Every list can be downloaded as a file: add ${formatsText(site)}.${guideTo(site, '/docs/csv', 'Formats')}</p></li>
          <li><h3>Excel and Google Sheets</h3><p>Load a list with Power Query or Apps Script, and refresh it.${guideTo(site, '/docs/spreadsheets', 'Step by step')}</p></li>
          <li><h3>AI assistants</h3><p>${tools && html`Tools at <code>${site.publicPath}${tools.path}</code> (MCP).`} A summary of the service for language models is in ${summary}.</p></li>
        </ul>
        ${command !== undefined && html`<pre tabindex="0"><code>${command}</code></pre>`}
        ${access(site)}
      </section>`;
};

const STATES: Readonly<Record<string, readonly [color: string, text: string]>> = {
  operational: ['good', 'All components are operational.'],
  unknown: ['muted', 'The status of some components is unknown.'],
  degraded: ['warn', 'The service works, but some components are impaired.'],
  outage: ['bad', 'Some components are down.'],
};

const freshness = ({ sources }: Status): string => {
  const late = sources.filter(isLate).length;
  if (sources.length === 0) return '';
  const all = sources.length === 1 ? 'Its source is' : `All ${count(sources.length)} sources are`;
  const some = `${count(late)} of ${count(sources.length)} sources ${late === 1 ? 'is' : 'are'}`;
  return late === 0 ? `${all} up to date.` : `${late === sources.length ? all : some} late.`;
};

export const statusSection = (site: Site): Markup | undefined => {
  const { status } = site.content;
  if (!status) return undefined;
  const [color, text] = STATES[status.status] ?? STATES['unknown']!;
  const published =
    status.snapshot && html` Data published on <time>${status.snapshot.published_at.slice(0, 10)}</time>.`;
  return html`<section aria-labelledby="status">
        <h2 id="status">Status</h2>
        <p class="status"><svg width="12" height="12" aria-hidden="true"><circle cx="6" cy="6" r="6" fill="var(--${color})"/></svg>
          ${text} ${freshness(status)}${published}
          ${link(site, statusHref(site) ?? `${site.basePath}/status`, 'Details')}</p>
      </section>`;
};

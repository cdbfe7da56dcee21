import { anonymousLimits, basePath, curlOf, keyVariable, Problem, request, samplesSendKey } from '../shared/api.js';
import { copyButton, h } from '../shared/dom.js';
import { rounded } from '../shared/format.js';
import { loadAdvice } from '../shared/load-errors.js';
import { addressOf, readAddress } from './address.js';
import { choice } from './controls.js';
import { save } from './save.js';
import { dataTable } from './table.js';

/** @import { Child } from '../shared/dom.js' */
/** @import { ChartOptions } from './drawing.js' */

/**
 * @typedef {{ label: string, target: string, file?: string }} Source an API call; `file` is a file name without `.csv`,
 *   present if the endpoint supports CSV
 * @typedef {{ legend: readonly { label: string, swatch: SVGSVGElement }[],
 *   draw: (size: { width: number, height: number }) => SVGSVGElement }} Content
 * @typedef {{ title: string, file: string, options?: () => ChartOptions, drawn?: () => Content,
 *   credits: () => readonly string[] }} Picture either `options` describes a chart, or `drawn` returns a drawing
 * @typedef {{ file: string, text: () => string }} Shown a CSV file with the data in the chart
 * @typedef {object} Tools
 * @property {readonly Source[]} sources
 * @property {string} [remark] explains differences between the API responses and the page
 * @property {HTMLElement} [more] an additional link
 * @property {Picture} [picture]
 * @property {string} [title] title of an embedded figure. Default: the title of the picture. Without either title, the
 *   figure cannot be embedded
 * @property {Shown} [shown]
 * @property {string} [figure] name of the figure in addresses. Not needed for the first figure of a view
 */

/** @param {string} label @param {() => Promise<void>} work */
const workButton = (label, work) => {
  const failure = h('span', { class: 'problem', role: 'alert' });
  const button = h('button', { type: 'button', class: 'quiet' }, label);
  button.addEventListener('click', async () => {
    button.disabled = true;
    failure.textContent = '';
    try {
      await work();
    } catch (error) {
      failure.textContent = error instanceof Problem ? error.message : 'The download failed.';
    } finally {
      button.disabled = false;
    }
  });
  return [button, failure];
};

/**
 * Text columns that can look like numbers, such as postal codes. The Python and R samples read them as text.
 * @type {Set<string>}
 */
export const textColumns = new Set();

/** @param {readonly string[]} targets */
const sampleOf = (targets) => ({
  urls: targets.map((target) => `${location.origin}${basePath}${target}`),
  texts: [...textColumns],
  keyVariable: samplesSendKey() ? keyVariable : undefined,
});

/** @type {Readonly<Record<string, (targets: readonly string[]) => string | Promise<string>>>} */
const LANGUAGES = {
  curl: (targets) => targets.map(curlOf).join('\n'),
  Python: async (targets) => (await import('./code-samples.js')).pythonSample(sampleOf(targets)),
  R: async (targets) => (await import('./code-samples.js')).rSample(sampleOf(targets)),
};

/** Programming language of the code samples. The user's choice applies to all figures on the page. */
let language = 'curl';
let calls = 0;

/** @param {readonly Source[]} sources @param {string | undefined} remark */
const apiCalls = (sources, remark) => {
  const targets = sources.map(({ target }) => target);
  // The Python and R samples read CSV, so they omit endpoints that do not support CSV.
  const csv = sources.flatMap(({ target, file }) => (file === undefined ? [] : [target]));
  const code = h('code');
  const show = async () => {
    const chosen = language;
    const sample = LANGUAGES[chosen]?.(chosen === 'curl' ? targets : csv) ?? '';
    const text = typeof sample === 'string' ? sample : await sample.catch(loadAdvice);
    // The user might have chosen another language while the module was loading.
    if (chosen === language) code.textContent = text;
  };
  calls += 1;
  const languages = choice({
    legend: 'Language',
    name: `language-${calls}`,
    choices: Object.keys(LANGUAGES).map((each) => [each, each]),
    value: language,
    onchange: (chosen) => {
      language = chosen;
      void show();
    },
  });
  void show();
  return h(
    'details',
    h('summary', sources.length > 1 ? 'API calls' : 'API call'),
    remark ? h('p', { class: 'muted' }, remark) : null,
    csv.length > 0 ? languages : null,
    h('pre', { tabindex: '0' }, code),
    copyButton(() => code.textContent ?? ''),
  );
};

/** @param {string | undefined} figure */
const hashOf = (figure) => {
  const { parts, query } = readAddress();
  if (figure === undefined) query.delete('figure');
  else query.set('figure', figure);
  return addressOf(parts, query);
};

/** Origins that may embed figures. Empty if figures cannot be embedded. */
const embeds = () => document.querySelector('meta[name="embeds"]')?.getAttribute('content') ?? '';

/** @param {string} title @param {string | undefined} figure */
const embedText = (title, figure) => {
  const quoted = title.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const address = `${location.origin}${location.pathname.replace(/\/$/, '')}/embed${hashOf(figure)}`;
  return `<iframe src="${address.replaceAll('&', '&amp;')}" title="${quoted}" width="100%" height="560" style="border:0"></iframe>`;
};

/** @param {string} title @param {Picture | undefined} picture @param {string | undefined} figure */
const embedCode = (title, picture, figure) => {
  const origins = embeds();
  if (origins === '') return null;
  const code = h('code');
  const needsKey = anonymousLimits === '';
  const note = [
    `${origins === '*' ? 'Any site' : `Only pages from ${origins}`} can embed this figure.`,
    needsKey && 'Every visitor needs a key for this service.',
    needsKey && picture && 'For visitors without a key, use the PNG or SVG.',
  ];
  return h(
    'details',
    // The code is updated each time the user opens it, because the address depends on the current choices.
    { ontoggle: () => code.replaceChildren(embedText(title, figure)) },
    h('summary', 'Embed'),
    h('p', { class: 'muted' }, note.filter(Boolean).join(' ')),
    h('pre', { tabindex: '0' }, code),
  );
};

/** @param {Picture} picture @param {Shown} shown */
const saveBoth = async (picture, shown) => {
  const [{ drawPicture }, { zipOf }] = await Promise.all([import('./picture.js'), import('./zip.js')]);
  const files = [
    { name: `${picture.file}.png`, blob: await drawPicture(picture, 'png') },
    { name: shown.file, blob: csvBlob(shown) },
  ];
  save(await zipOf(files), `${picture.file}.zip`);
};

/** @param {Shown} shown */
const csvBlob = (shown) => new Blob([shown.text()], { type: 'text/csv' });

/** @param {Picture} picture @param {'png' | 'svg'} format */
const savePicture = async (picture, format) => {
  const { drawPicture } = await import('./picture.js');
  save(await drawPicture(picture, format), `${picture.file}.${format}`);
};

/** @param {Picture} picture */
export const pictureButtons = (picture) =>
  /** @type {const} */ (['png', 'svg']).flatMap((format) =>
    workButton(format.toUpperCase(), () => savePicture(picture, format)),
  );

/** @param {Tools} tools */
export const dataTools = ({ sources, remark, more, picture, title = picture?.title, shown, figure }) =>
  h(
    'div',
    { class: 'tools' },
    copyButton(() => `${location.href.replace(/#.*/, '')}${hashOf(figure)}`, 'Copy link'),
    embeds() === '' || title === undefined ? null : copyButton(() => embedText(title, figure), 'Copy embed'),
    ...(picture ? pictureButtons(picture) : []),
    ...(shown ? workButton('CSV: as shown', async () => save(csvBlob(shown), shown.file)) : []),
    ...(picture && shown ? workButton('PNG and CSV', () => saveBoth(picture, shown)) : []),
    ...sources.flatMap(({ label, target, file }) =>
      file === undefined || shown
        ? []
        : workButton(`CSV: ${label}`, async () =>
            save(await (await request(target, { accept: 'text/csv' })).blob(), `${file}.csv`),
          ),
    ),
    apiCalls(sources, remark),
    title === undefined ? null : embedCode(title, picture, figure),
    more,
  );

/** @param {HTMLElement} place @param {readonly HTMLElement[]} content */
const replaceContent = (place, content) => {
  const open = [...place.querySelectorAll('details')].map((details) => details.open);
  place.replaceChildren(...content);
  for (const [at, details] of place.querySelectorAll('details').entries()) details.open = open[at] === true;
};

/** @param {HTMLElement} place @param {Tools} tools */
export const replaceTools = (place, tools) => replaceContent(place, [dataTools(tools)]);

/** @param {ChartOptions} options @param {string} time */
export const linesTable = ({ dates, lines, dateText }, time) => ({
  rows: dates.map((date, index) => ({ date, values: lines.map(({ values }) => values[index] ?? null) })).toReversed(),
  columns: [
    {
      label: time,
      cell: (/** @type {{ date: string }} */ { date }) => dateText(date),
      value: (/** @type {{ date: string }} */ { date }) => date,
    },
    ...lines.map(({ label }, index) => {
      const value = (/** @type {{ values: readonly (number | null)[] }} */ { values }) => values[index] ?? null;
      return {
        label,
        value,
        cell: (/** @type {{ values: readonly (number | null)[] }} */ row) => rounded(value(row), 6),
        numeric: true,
      };
    }),
  ],
});

/** @param {readonly (string | undefined)[]} sources publishers of the data, and models of forecasts */
export const sourceLine = (sources) => {
  const names = [...new Set(sources.filter(Boolean))];
  return names.length > 0 ? h('p', { class: 'source muted' }, `Source: ${names.join('; ')}`) : null;
};

/**
 * @template Row
 * @typedef {Tools & { title: string, publishers?: Parameters<typeof sourceLine>[0], table: { columns: readonly
 *   import('./table.js').Column<Row>[], rows: readonly Row[] } }} Below `publishers`: absent if the view has its own source line
 */

/** @template Row @param {Below<Row>} options */
const belowChart = ({ title, publishers = [], table, ...tools }) => {
  const details = h('details', h('summary', 'Data as a table'));
  // The table is created when the user opens it, because it can have hundreds of rows.
  const fill = () => details.append(dataTable({ caption: title, ...table }).element);
  details.addEventListener('toggle', fill, { once: true });
  return [sourceLine(publishers), dataTools(tools), details].filter((part) => part !== null);
};

/**
 * @param {{ title: string, note?: Child, figure?: string | undefined }} head @param {readonly HTMLElement[]} content
 */
const figureOf = ({ title, note, figure }, ...content) =>
  h(
    'figure',
    { id: figure },
    h('figcaption', h('h2', title), note ? h('p', { class: 'muted' }, note) : null),
    ...content,
  );

/** @template Row @param {Below<Row> & { note?: Child, chart: HTMLElement }} options */
export const chartFigure = ({ note, chart, ...below }) => figureOf({ note, ...below }, chart, ...belowChart(below));

/** @param {{ title: string, note: Child, chart: HTMLElement }} options */
export const changingFigure = ({ title, note, chart }) => {
  const place = h('div');
  const element = figureOf({ title, note }, chart, place);
  return {
    element,
    /** @template Row @param {Omit<Below<Row>, 'title'> & { title?: string }} below */
    show: ({ title: changed = title, ...below }) => {
      const heading = element.querySelector('h2');
      if (heading) heading.textContent = changed;
      replaceContent(place, belowChart({ title: changed, ...below }));
    },
  };
};

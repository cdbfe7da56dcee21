/** A chart or table with what it was made from: its rows, a CSV, and the API call. */
import { curlOf, Problem, request } from './api.js';
import { copyButton, h } from './dom.js';
import { dataTable } from './table.js';

/**
 * @typedef {{ label: string, target: string, file?: string }} Source what the API was asked; `file`, without `.csv`,
 *   where it answers in CSV too
 */

/** @param {Source} source @returns {HTMLElement[]} */
const csvButton = ({ label, target, file }) => {
  if (file === undefined) return [];
  const failure = h('span', { class: 'problem', role: 'alert' });
  const button = h('button', { type: 'button', class: 'quiet' }, `CSV: ${label}`);
  button.addEventListener('click', async () => {
    button.disabled = true;
    failure.textContent = '';
    try {
      const url = URL.createObjectURL(await (await request(target, { accept: 'text/csv' })).blob());
      h('a', { href: url, download: `${file}.csv` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (error) {
      failure.textContent = error instanceof Problem ? error.message : 'The download failed.';
    } finally {
      button.disabled = false;
    }
  });
  return [button, failure];
};

/** @param {readonly Source[]} sources */
export const dataTools = (sources) => {
  const calls = sources.map(({ target }) => curlOf(target));
  return h(
    'div',
    { class: 'tools' },
    ...sources.flatMap(csvButton),
    h(
      'details',
      {},
      h('summary', {}, sources.length > 1 ? 'API calls' : 'API call'),
      h('pre', { tabindex: '0' }, h('code', {}, calls.join('\n'))),
      copyButton(() => calls.join('\n')),
    ),
  );
};

/**
 * @template Row
 * @param {{ title: string, note?: string, chart: HTMLElement, sources: readonly Source[],
 *   table: { columns: readonly import('./table.js').Column<Row>[], rows: readonly Row[] } }} options
 */
export const chartFigure = ({ title, note, chart, sources, table }) => {
  const details = h('details', {}, h('summary', {}, 'Data as a table'));
  // Hundreds of rows are laid out when somebody wants them.
  const fill = () => details.append(dataTable({ caption: title, ...table }).element);
  details.addEventListener('toggle', fill, { once: true });
  return h(
    'figure',
    {},
    h('figcaption', {}, h('h2', {}, title), note ? h('p', { class: 'muted' }, note) : null),
    chart,
    dataTools(sources),
    details,
  );
};

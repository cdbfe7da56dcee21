import { csvOf } from '../../../core/pages/data-views/csv.js';
import { dataTools } from '../../../core/pages/data-views/figure.js';
import { fileNameOf } from '../../../core/pages/data-views/save.js';
import { getJson, Problem } from '../../../core/pages/shared/api.js';
import { h } from '../../../core/pages/shared/dom.js';
import { cellsOf, inSentence, linkOf, targetOf, words } from './cells.js';
import { chartChoices } from './time-figures.js';

/** @import { Table } from './tables.js' */
/** @import { Row } from './time-figures.js' */

const NAME = /(^|_)(name|title|label)$/i;

/**
 * Returns the name in the row. If the row has none, returns its key and its first measurement.
 * @param {Table} table @param {Row} row @param {ReturnType<typeof cellsOf>} cell
 */
const titleOf = (table, row, cell) => {
  const { columns, key, name } = table;
  const named = columns.find((column) => column.kind === 'text' && NAME.test(column.name) && row[column.name]);
  if (named) return String(row[named.name]);
  const place = [words(name), ...key.map((field) => row[field])].join(', ');
  const measured = columns.find((column) => column.name === chartChoices(table, [row]).first.value);
  if (!measured || row[measured.name] == null) return place;
  return `${place}: ${inSentence(measured.label)} ${cell(row, measured)}`;
};

/** @param {Table} table @param {Row} row */
const csvOfRow = ({ columns }, row) => {
  const values = columns.map(({ name }) => row[name]);
  return csvOf([
    columns.map(({ name }) => name),
    values.map((value) => (typeof value === 'boolean' ? String(value) : value)),
  ]);
};

/** @param {Table} table @returns {import('../../../core/pages/data-views/router.js').Route} */
export const rowView = (table) => async (parameters, signal) => {
  const { name, columns, key } = table;
  if (parameters.length !== key.length) {
    throw new Problem(`A row in ${name} is identified by ${key.join(', ')}.`, { status: 404, code: 'no_view' });
  }
  const target = targetOf(table, parameters);
  const row = /** @type {Row} */ (
    await getJson(target, { signal }).catch((error) => {
      if (!(error instanceof Problem) || error.code !== 'row_not_found') throw error;
      throw new Problem(`There is no row with this key. /${name} lists all of them.`, error);
    })
  );
  const cell = cellsOf(table, [row]);
  return {
    title: titleOf(table, row, cell),
    content: [
      h(
        'p',
        { class: 'muted' },
        `${words(name)}: ${parameters.join(', ')} · `,
        h('a', { href: `#/${name}` }, `All rows of ${inSentence(words(name))}`),
      ),
      h(
        'dl',
        { class: 'record' },
        ...columns.flatMap((column) => {
          const content = cell(row, column);
          return [
            h('dt', column.label, column.description ? h('small', column.description) : null),
            h('dd', linkOf(content) ?? content),
          ];
        }),
      ),
      dataTools({
        sources: [{ label: name, target }],
        shown: { file: `${fileNameOf([name, ...parameters].join('-'))}.csv`, text: () => csvOfRow(table, row) },
      }),
    ],
  };
};

import { dataTools } from '../../pages/data-views/figure.js';
import { getJson, Problem } from '../../pages/shared/api.js';
import { h } from '../../pages/shared/dom.js';
import { cellsOf, inSentence, linkOf, targetOf, words } from './cells.js';

/** @param {import('./tables.js').Table} table @returns {import('../../pages/data-views/router.js').Route} */
export const rowView = (table) => async (parameters, signal) => {
  if (parameters.length !== table.key.length) {
    throw new Problem(`A row in ${table.name} is identified by ${table.key.join(', ')}.`, {
      status: 404,
      code: 'no_view',
    });
  }
  const target = targetOf(table, parameters);
  const row = /** @type {import('./time-figures.js').Row} */ (await getJson(target, { signal }));
  const cell = cellsOf(table, [row]);
  return {
    title: `${words(table.name)}: ${parameters.join(', ')}`,
    content: [
      h('p', { class: 'muted' }, h('a', { href: `#/${table.name}` }, `All rows of ${inSentence(words(table.name))}`)),
      h(
        'dl',
        { class: 'record' },
        ...table.columns.flatMap((column) => {
          const content = cell(row, column);
          return [
            h('dt', column.label, column.description ? h('small', column.description) : null),
            h('dd', linkOf(content) ?? content),
          ];
        }),
      ),
      dataTools({ sources: [{ label: table.name, target }] }),
    ],
  };
};

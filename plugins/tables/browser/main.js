/** The pages of tables: which view is shown at which address. */
import { readAddress } from '../../pages/data-views/address.js';
import { textColumns } from '../../pages/data-views/figure.js';
import { startPage } from '../../pages/data-views/page-start.js';
import { startRouter } from '../../pages/data-views/router.js';
import { isNarrowing, searchField } from '../../pages/data-views/search-field.js';
import { markSynthetic, statusView } from '../../pages/data-views/status.js';
import { getJson } from '../../pages/shared/api.js';
import { find, h } from '../../pages/shared/dom.js';
import { problemView } from '../../pages/shared/problems.js';
import { rowView } from './row-view.js';
import { tableView, words } from './table-view.js';
import { tablesOf } from './tables.js';

/** From a view that no search narrows, Enter leads to the list of its table, or else of the first. @param {readonly string[]} tables */
const startFinder = (tables) =>
  find('#finder').addEventListener('submit', (event) => {
    event.preventDefault();
    if (isNarrowing()) return;
    const here = readAddress().parts[0] ?? '';
    const query = encodeURIComponent(searchField()?.value ?? '');
    location.hash = `#/${tables.includes(here) ? here : tables[0]}?q=${query}`;
  });

const start = async () => {
  const tables = tablesOf(await getJson('/openapi.json', { key: false }));
  for (const { columns } of tables) {
    for (const { name, kind } of columns) if (kind === 'text') textColumns.add(name);
  }
  const names = [...tables.map(({ name }) => name), 'status'];
  find('#views').replaceChildren(...names.map((name) => h('li', {}, h('a', { href: `#/${name}` }, words(name)))));
  startFinder(tables.map(({ name }) => name));
  startRouter(
    Object.fromEntries([
      ...tables.map((table) => {
        const [list, one] = [tableView(table), rowView(table)];
        return [
          table.name,
          /** @type {import('../../pages/data-views/router.js').Route} */ (
            (parameters, signal, query) => (parameters[0] ? one : list)(parameters, signal, query)
          ),
        ];
      }),
      ['status', statusView()],
    ]),
    names[0] ?? 'status',
  );
};

startPage();
markSynthetic();
const begin = () => void start().catch((error) => find('#main').replaceChildren(problemView(error, begin)));
begin();

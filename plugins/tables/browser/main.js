/** The pages of tables: which view is shown at which address. */
import { readAddress } from './address.js';
import { getJson } from './api.js';
import { find, h } from './dom.js';
import { textColumns } from './figure.js';
import { startPage } from './page-start.js';
import { problemView } from './problems.js';
import { startRouter } from './router.js';
import { rowView } from './row-view.js';
import { isNarrowing, searchField } from './search-field.js';
import { markSynthetic, statusView } from './status.js';
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
          /** @type {import('./router.js').Route} */ (
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

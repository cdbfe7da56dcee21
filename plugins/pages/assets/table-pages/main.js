/** The pages of tables: which view is shown at which address. */
import { getJson } from './api.js';
import { find, h } from './dom.js';
import { textColumns } from './figure.js';
import { startPage } from './page-start.js';
import { problemView } from './problems.js';
import { startRouter } from './router.js';
import { startSearch } from './row-search.js';
import { rowView } from './row-view.js';
import { markSynthetic, statusView } from './status.js';
import { tableView, words } from './table-view.js';
import { tablesOf } from './tables.js';

const start = async () => {
  const tables = tablesOf(await getJson('/openapi.json', { key: false }));
  for (const { columns } of tables) {
    for (const { name, kind } of columns) if (kind === 'text') textColumns.add(name);
  }
  const names = [...tables.map(({ name }) => name), 'status'];
  find('#views').replaceChildren(...names.map((name) => h('li', {}, h('a', { href: `#/${name}` }, words(name)))));
  startSearch(tables.map(({ name }) => name));
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

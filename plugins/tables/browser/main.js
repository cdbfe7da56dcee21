import { readAddress } from '../../../core/pages/data-views/address.js';
import { textColumns } from '../../../core/pages/data-views/figure.js';
import { startPage } from '../../../core/pages/data-views/page-start.js';
import { lazyView, showProblem, startRouter } from '../../../core/pages/data-views/router.js';
import { isNarrowing, searchField } from '../../../core/pages/data-views/search-field.js';
import { getJson } from '../../../core/pages/shared/api.js';
import { find, h } from '../../../core/pages/shared/dom.js';
import { words } from './cells.js';
import { tableView } from './table-view.js';
import { tablesOf } from './tables.js';

/** @param {readonly string[]} tables */
const startFinder = (tables) =>
  find('#finder').addEventListener('submit', (event) => {
    event.preventDefault();
    if (isNarrowing()) return;
    const here = readAddress().parts[0] ?? '';
    const query = encodeURIComponent(searchField().value);
    location.hash = `#/${tables.includes(here) ? here : tables[0]}?q=${query}`;
  });

/** @param {import('./tables.js').Table} table @returns {import('../../../core/pages/data-views/router.js').Route} */
const routeOf = (table) => {
  const list = tableView(table);
  const row = lazyView(async () => (await import('./row-view.js')).rowView(table));
  return (parameters, ...rest) => {
    textColumns.clear();
    for (const { name, kind } of table.columns) if (kind === 'text') textColumns.add(name);
    return (parameters[0] ? row : list)(parameters, ...rest);
  };
};

const start = async () => {
  const tables = tablesOf(await getJson('/openapi.json', { key: false }));
  const names = tables.map(({ name }) => name);
  const views = [...names, 'status'];
  find('#views').replaceChildren(...views.map((name) => h('li', h('a', { href: `#/${name}` }, words(name)))));
  startFinder(names);
  startRouter(
    {
      ...Object.fromEntries(tables.map((table) => [table.name, routeOf(table)])),
      status: lazyView(async () => (await import('../../../core/pages/data-views/status.js')).statusView()),
    },
    views[0] ?? 'status',
  );
};

startPage();
const begin = () => void start().catch((error) => showProblem(error, begin));
begin();

import { textColumns } from '../../../../core/pages/data-views/figure.js';
import { startPage } from '../../../../core/pages/data-views/page-start.js';
import { lazyView, startRouter } from '../../../../core/pages/data-views/router.js';
import { h } from '../../../../core/pages/shared/dom.js';
import { aboutSeries } from './about-series.js';
import { methodologyLink } from './basis.js';
import { titlesOf } from './catalog.js';
import { readParameters } from './parameters.js';
import { openSearched, startSearch } from './search-box.js';

/** @import { Route } from '../../../../core/pages/data-views/router.js' */

const allMarkets = lazyView(async () => (await import('./markets/view.js')).marketsView);
const oneMarket = lazyView(async () => (await import('./market/view.js')).marketView);

/** Views of a single item, such as `#/markets/26420`. @type {Readonly<Record<string, string>>} */
const SINGLE = { markets: 'market', series: 'one series' };

/** @param {string} name @param {Route} route @returns {Route} */
const explained = (name, route) => async (parameters, signal, query) => {
  const ignored = readParameters((parameters[0] && SINGLE[name]) || name, query);
  const view = await route(parameters, signal, query);
  return { ...view, ignored, about: [...(view.about ?? []), methodologyLink('Methodology')] };
};

/** @type {Record<string, Route>} */
const ROUTES = {
  markets: (parameters, ...rest) => (parameters[0] ? oneMarket : allMarkets)(parameters, ...rest),
  compare: lazyView(async () => (await import('./compare/view.js')).compareView),
  movers: lazyView(async () => (await import('./movers.js')).moversView),
  series: lazyView(async () => (await import('./series.js')).seriesView),
  backtest: lazyView(async () => (await import('./backtest/view.js')).backtestView),
  status: lazyView(async () => {
    const { statusView } = await import('../../../../core/pages/data-views/status.js');
    const more = () => h('p', h('a', { href: '#/data' }, 'Download all the data'));
    return statusView({ titles: titlesOf, more });
  }),
  data: lazyView(async () => (await import('./data.js')).dataView),
};

textColumns.add('cbsa');
startPage();
startSearch();
// Errors are ignored here, because the list of markets loads the same data and reports them.
await openSearched().catch(() => undefined);
startRouter(
  Object.fromEntries(Object.entries(ROUTES).map(([name, route]) => [name, explained(name, route)])),
  'markets',
  aboutSeries,
);

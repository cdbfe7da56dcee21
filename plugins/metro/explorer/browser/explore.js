/** The script of the explorer, which maps addresses to views. */
import { textColumns } from '../../../pages/data-views/figure.js';
import { startPage } from '../../../pages/data-views/page-start.js';
import { lazyView, startRouter } from '../../../pages/data-views/router.js';
import { aboutSeries } from './about-series.js';
import { methodologyLink } from './basis.js';
import { startSearch } from './search-box.js';

// A page in a frame has a link to the same view in the explorer.
const whole = document.querySelector('#whole');
whole?.addEventListener('click', () =>
  whole.setAttribute('href', `${whole.getAttribute('href')?.replace(/#.*/, '')}${location.hash}`),
);

const allMarkets = lazyView(async () => (await import('./markets/view.js')).marketsView);
const oneMarket = lazyView(async () => (await import('./market/view.js')).marketView);

/**
 * Adds a link to the methodology to what a view says about its figures.
 * @param {import('../../../pages/data-views/router.js').Route} route
 * @returns {import('../../../pages/data-views/router.js').Route}
 */
const explained =
  (route) =>
  async (...call) => {
    const view = await route(...call);
    return { ...view, about: [...(view.about ?? []), methodologyLink('Methodology')] };
  };

/** @type {Record<string, import('../../../pages/data-views/router.js').Route>} */
const ROUTES = {
  markets: (parameters, ...rest) => (parameters[0] ? oneMarket : allMarkets)(parameters, ...rest),
  compare: lazyView(async () => (await import('./compare/view.js')).compareView),
  movers: lazyView(async () => (await import('./movers.js')).moversView),
  series: lazyView(async () => (await import('./series.js')).seriesView),
  backtest: lazyView(async () => (await import('./backtest/view.js')).backtestView),
  status: lazyView(async () => (await import('./status.js')).explorerStatus),
  data: lazyView(async () => (await import('./data.js')).dataView),
};

textColumns.add('cbsa');
startPage();
startSearch();
startRouter(
  Object.fromEntries(Object.entries(ROUTES).map(([name, route]) => [name, explained(route)])),
  'markets',
  aboutSeries,
);

/** The explorer: which view is shown at which address. */

import { textColumns } from '../../../pages/data-views/figure.js';
import { startPage } from '../../../pages/data-views/page-start.js';
import { startRouter } from '../../../pages/data-views/router.js';
import { markSynthetic, statusView } from '../../../pages/data-views/status.js';
import { h } from '../../../pages/shared/dom.js';
import { aboutSeries } from './about-series.js';
import { backtestView } from './backtest.js';
import { titlesOf } from './catalog.js';
import { compareView } from './compare.js';
import { dataView } from './data.js';
import { marketView } from './market.js';
import { marketsView } from './markets.js';
import { moversView } from './movers.js';
import { startSearch } from './search-box.js';
import { seriesView } from './series.js';

// Of a page inside another one: the same view in a window of its own.
const whole = document.querySelector('#whole');
whole?.addEventListener('click', () =>
  whole.setAttribute('href', `${whole.getAttribute('href')?.replace(/#.*/, '')}${location.hash}`),
);

textColumns.add('cbsa');
startPage();
markSynthetic();
startSearch();
startRouter(
  {
    markets: (parameters, signal, query) => (parameters[0] ? marketView : marketsView)(parameters, signal, query),
    compare: compareView,
    movers: moversView,
    series: seriesView,
    backtest: backtestView,
    status: statusView({
      titles: titlesOf,
      more: () => h('p', {}, h('a', { href: '#/data' }, 'Download all the data')),
    }),
    data: dataView,
  },
  'markets',
  aboutSeries,
);

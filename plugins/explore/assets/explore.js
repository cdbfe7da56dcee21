/** The explorer: which view is shown at which address. */
import { setKey } from './api.js';
import { backtestView } from './backtest.js';
import { find } from './dom.js';
import { marketView } from './market.js';
import { marketsView } from './markets.js';
import { moversView } from './movers.js';
import { startRouter } from './router.js';
import { seriesView } from './series.js';
import { markSynthetic, statusView } from './status.js';

find('#forget').addEventListener('click', () => setKey(''));
// The address after # is the view's, so that the browser's own jump would leave it.
find('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  find('#main').focus();
});

markSynthetic();
startRouter(
  {
    markets: (parameters, signal) => (parameters[0] ? marketView(parameters, signal) : marketsView(parameters, signal)),
    movers: moversView,
    series: seriesView,
    backtest: backtestView,
    status: statusView,
  },
  'markets',
);

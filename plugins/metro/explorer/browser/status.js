import { statusView } from '../../../pages/data-views/status.js';
import { h } from '../../../pages/shared/dom.js';
import { titlesOf } from './catalog.js';

export const explorerStatus = statusView({
  titles: titlesOf,
  more: () => h('p', h('a', { href: '#/data' }, 'Download all the data')),
});

import { h } from '../../../../../core/pages/shared/dom.js';

/** @import { Area } from '../../../client/api-types.js' */

const NEIGHBOURS = 5;

/** @param {readonly Area[]} areas @param {string} cbsa */
const nearestOf = (areas, cbsa) => {
  const here = areas.find((area) => area.cbsa === cbsa);
  if (!here) return [];
  // Away from the equator, a degree of longitude is shorter than a degree of latitude.
  const narrow = Math.cos((here.latitude * Math.PI) / 180);
  const distance = (/** @type {Area} */ { latitude, longitude }) =>
    Math.hypot(latitude - here.latitude, (longitude - here.longitude) * narrow);
  return areas
    .filter((area) => area.has_index && area.cbsa !== cbsa)
    .toSorted((a, b) => distance(a) - distance(b))
    .slice(0, NEIGHBOURS);
};

/** @param {readonly Area[]} areas @param {string} cbsa */
export const neighboursOf = (areas, cbsa) => {
  const nearest = nearestOf(areas, cbsa);
  if (nearest.length === 0) return null;
  const compared = [cbsa, ...nearest.map((one) => one.cbsa)].join(',');
  return h(
    'section',
    { class: 'neighbours' },
    h('h2', 'Neighbours'),
    h('ul', { class: 'legend' }, ...nearest.map((one) => h('li', h('a', { href: `#/markets/${one.cbsa}` }, one.name)))),
    h('a', { href: `#/compare?m=${compared}` }, 'Compare with its neighbours'),
  );
};

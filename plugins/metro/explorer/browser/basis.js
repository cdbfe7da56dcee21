/** Shows the basis of a forecast, which was either published at the time or reconstructed later. */
import { publicPath } from '../../../pages/shared/api.js';
import { h } from '../../../pages/shared/dom.js';

/** @param {string} text @param {string} [part] of the methodology */
export const methodologyLink = (text, part = '') => h('a', { href: `${publicPath}/docs/methodology${part}` }, text);

/** The word "reconstructed", with a link to its explanation. */
export const reconstructed = () => methodologyLink('reconstructed', '#record-and-reconstruction');

/**
 * Returns the mark "(reconstructed)" to show after a run's name, or nothing for a published run.
 * @param {string | null | undefined} basis
 */
export const markOf = (basis) => (basis === 'reconstructed' ? [' (', reconstructed(), ')'] : []);

/**
 * The number of reconstructed forecasts in a table or chart, as text for pictures. Empty if there are none.
 * @param {number} count @param {number} all
 */
export const basisText = (count, all) =>
  count === 0
    ? ''
    : `${count === all ? 'All' : `${count.toLocaleString('en-US')} of ${all.toLocaleString('en-US')}`} forecasts are reconstructed from later data and were not published at the time.`;

/** Like `basisText`, with a link. @param {number} count @param {number} all */
export const basisNote = (count, all) => {
  const [before, after] = basisText(count, all).split('reconstructed');
  return after === undefined ? [] : [`${before}`, reconstructed(), after];
};

/**
 * The name of forecasts by their basis.
 * @param {number} count of reconstructed forecasts @param {number} all
 */
export const forecastsName = (count, all) =>
  count === 0 ? 'published forecasts' : `${count === all ? '' : 'published and '}reconstructed forecasts`;

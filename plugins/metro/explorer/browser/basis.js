import { publicPath } from '../../../../core/pages/shared/api.js';
import { h } from '../../../../core/pages/shared/dom.js';
import { signalsText } from './grades.js';

/** @param {string} text @param {string} [part] */
export const methodologyLink = (text, part = '') => h('a', { href: `${publicPath}/docs/methodology${part}` }, text);

export const reconstructed = () => methodologyLink('reconstructed', '#record-and-reconstruction');

/** @param {import('./grades.js').Rules | null | undefined} rules */
export const signalsNote = (rules) =>
  rules ? [signalsText(rules), methodologyLink('How signals are computed', '#signals')] : [];

/** @param {string | null | undefined} basis */
export const markOf = (basis) => (basis === 'reconstructed' ? [' (', reconstructed(), ')'] : []);

/** @param {number} count @param {number} all */
export const basisText = (count, all) =>
  count === 0
    ? ''
    : `${count === all ? 'All' : `${count.toLocaleString('en-US')} of ${all.toLocaleString('en-US')}`} forecasts are reconstructed from later data and were not published at the time.`;

/** @param {number} count @param {number} all */
export const basisNote = (count, all) => {
  const [before, after] = basisText(count, all).split('reconstructed');
  return after === undefined ? [] : [`${before}`, reconstructed(), after];
};

/** @param {number} count @param {number} all */
export const forecastsName = (count, all) =>
  count === 0 ? 'published forecasts' : `${count === all ? '' : 'published and '}reconstructed forecasts`;

import { fileNameOf } from '../../../../pages/data-views/save.js';

/** @import { Choices, Member } from './members.js' */

/** @type {{ [show in Choices['show']]: string }} */
const MEASURES = { rebased: 'rebased', change: 'yearly change', nation: 'difference from nation' };

/** @param {readonly Member[]} members */
export const namesOf = (members) => members.map(({ short }) => short).join(', ');

/**
 * Long file names are cut, so the measure comes before the names of the markets.
 * @param {readonly Member[]} members @param {Choices} chosen
 */
export const comparisonFile = (members, { show, real }) =>
  fileNameOf([MEASURES[show], real && show !== 'nation' ? 'real' : '', namesOf(members)].join(' '));

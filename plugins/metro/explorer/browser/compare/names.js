import { fileNameOf } from '../../../../pages/data-views/save.js';

/** @import { Choices, Member } from './members.js' */

/** @type {{ [show in Choices['show']]: string }} */
const MEASURES = { rebased: 'rebased', change: 'yearly change', nation: 'difference from nation' };

/** @param {readonly Member[]} members */
export const namesOf = (members) => members.map(({ short }) => short).join(', ');

/**
 * A file name can be too short for all names, so the measure comes first.
 * @param {readonly Member[]} members @param {Choices} chosen
 */
export const comparisonFile = (members, { show, real }) =>
  fileNameOf([MEASURES[show], real && show !== 'nation' ? 'real' : '', namesOf(members)].join(' '));

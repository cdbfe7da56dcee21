/** Links between the views. */
import { h } from '../../../pages/shared/dom.js';
import { plainName } from './search.js';

/** @param {string} cbsa @param {string} name */
export const marketLink = (cbsa, name) => h('a', { href: `#/markets/${cbsa}` }, plainName(name));

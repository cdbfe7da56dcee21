import { h } from '../shared/dom.js';
import { plain } from '../shared/format.js';

/** @param {string} text */
export const fileNameOf = (text) =>
  plain(text)
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 60)
    .replace(/-$/, '');

/** @param {Blob} blob @param {string} file */
export const save = (blob, file) => {
  const url = URL.createObjectURL(blob);
  h('a', { href: url, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

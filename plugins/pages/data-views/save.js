import { h } from '../shared/dom.js';

/** @param {Blob} blob @param {string} file */
export const save = (blob, file) => {
  const url = URL.createObjectURL(blob);
  h('a', { href: url, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

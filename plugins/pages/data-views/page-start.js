/** What every page of data does by itself: its skip link, its way to forget the key, and its search box. */
import { setKey } from '../shared/api.js';
import { find } from '../shared/dom.js';
import { startSearchField } from './search-field.js';

export const startPage = () => {
  // A sheet of paper says which service it comes from, and which view.
  const paper = document.querySelector('.on-paper');
  const owner = paper?.textContent ?? '';
  addEventListener('beforeprint', () => {
    if (paper) paper.textContent = `${owner} · ${location.href}`;
  });
  document.querySelector('#forget')?.addEventListener('click', () => setKey(''));
  // The address after # is the view's, so that the browser's own jump would leave it.
  document.querySelector('.skip')?.addEventListener('click', (event) => {
    event.preventDefault();
    find('#main').focus();
  });
  startSearchField();
};

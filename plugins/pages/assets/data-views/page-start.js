/** What every page of data does by itself: its skip link, its way to forget the key, and `/` for its search box. */
import { setKey } from './api.js';
import { find } from './dom.js';

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
  const search = document.querySelector('#search');
  if (!(search instanceof HTMLInputElement)) return;
  addEventListener('keydown', (event) => {
    const { target } = event;
    const typing = target instanceof HTMLElement && target.matches('input:not([type="radio"]), select, textarea');
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || typing) return;
    event.preventDefault();
    search.focus();
    search.select();
  });
};

import { anonymousLimits, getKey, publicPath, setKey } from '../shared/api.js';
import { find, h } from '../shared/dom.js';
import { startSearchField } from './search-field.js';

const showLimits = () => {
  if (anonymousLimits === '') return;
  const link = h('a', { href: `${publicPath}/sign-in` }, 'Use a key');
  const note = h('p', { class: 'keyless muted' }, `Without a key, you can make up to ${anonymousLimits}. `, link);
  const toggle = () => {
    note.hidden = getKey() !== '';
  };
  toggle();
  addEventListener('keychange', toggle);
  find('#notes').before(note);
};

/** @param {string} owner */
const linkFullPage = (owner) => {
  const address = () => `${location.pathname.replace(/\/embed$/, '')}${location.hash}`;
  const onclick = () => link.setAttribute('href', address());
  const link = h('a', { href: address(), target: '_blank', rel: 'noopener', onclick }, `Open in ${owner}`);
  find('#notes').after(h('nav', { class: 'whole', 'aria-label': 'Full page' }, link));
};

export const startPage = () => {
  showLimits();
  const paper = document.querySelector('.on-paper');
  const owner = paper?.textContent ?? '';
  if (document.body.matches('.embedded')) linkFullPage(owner);
  addEventListener('beforeprint', () => {
    if (paper) paper.textContent = `${owner} · ${location.href}`;
  });
  document.querySelector('#forget')?.addEventListener('click', () => setKey(''));
  // Following the skip link must not replace the fragment, because the fragment selects the view.
  document.querySelector('.skip')?.addEventListener('click', (event) => {
    event.preventDefault();
    find('#main').focus();
  });
  startSearchField();
};

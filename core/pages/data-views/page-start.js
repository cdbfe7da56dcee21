import { anonymousLimits, getKey, publicPath, setKey } from '../shared/api.js';
import { find, h, ownerName } from '../shared/dom.js';
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

const linkFullPage = () => {
  const address = () => `${location.pathname.replace(/\/embed$/, '')}${location.hash}`;
  const onclick = () => link.setAttribute('href', address());
  const link = h('a', { href: address(), target: '_blank', rel: 'noopener', onclick }, `Open in ${ownerName()}`);
  find('#notes').after(h('nav', { class: 'whole', 'aria-label': 'Full page' }, link));
};

export const startPage = () => {
  showLimits();
  if (document.body.matches('.embedded')) linkFullPage();
  document.querySelector('#forget')?.addEventListener('click', () => setKey(''));
  // Following the skip link must not replace the fragment, because the fragment selects the view.
  document.querySelector('.skip')?.addEventListener('click', (event) => {
    event.preventDefault();
    find('#main').focus();
  });
  startSearchField();
};

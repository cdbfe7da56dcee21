/**
 * Sets up the parts that every data page has: the banner for synthetic data, the skip link, the key and the search box.
 */
import { anonymousLimits, getJson, getKey, publicPath, setKey } from '../shared/api.js';
import { find, h } from '../shared/dom.js';
import { startSearchField } from './search-field.js';

/** Loads the status, and marks the page if the data is synthetic. @param {AbortSignal} [signal] */
export const getStatus = async (signal) => {
  const status = await getJson('/status', { key: false, signal });
  find('#synthetic').hidden = status.snapshot?.synthetic !== true;
  return status;
};

/** Readers without a key see their limits below the content. */
const showLimits = () => {
  if (anonymousLimits === '') return;
  const link = h('a', { href: `${publicPath}/sign-in` }, 'Use a key');
  const note = h('p', { class: 'keyless muted' }, `You are reading without a key: ${anonymousLimits}. `, link);
  const toggle = () => {
    note.hidden = getKey() !== '';
  };
  toggle();
  addEventListener('keychange', toggle);
  find('#notes').before(note);
};

export const startPage = () => {
  showLimits();
  // The status view itself shows why the status cannot be loaded.
  void getStatus().catch(() => undefined);
  // A printed page names the service and its address.
  const paper = document.querySelector('.on-paper');
  const owner = paper?.textContent ?? '';
  addEventListener('beforeprint', () => {
    if (paper) paper.textContent = `${owner} · ${location.href}`;
  });
  document.querySelector('#forget')?.addEventListener('click', () => setKey(''));
  // The part after # names the view, so if the browser followed the link, the reader would leave the view.
  document.querySelector('.skip')?.addEventListener('click', (event) => {
    event.preventDefault();
    find('#main').focus();
  });
  startSearchField();
};

/**
 * A one-time code is in the fragment of the address, which browsers do not send to servers. The script removes the
 * fragment from the browser history before the code is used.
 */
import { getKey, publicPath, setKey } from '../../shared/api.js';
import { find, h } from '../../shared/dom.js';
import { keyForm } from '../../shared/key-form.js';

const main = find('#main');
const code = location.hash.slice(1);
history.replaceState(null, '', location.pathname);

/** Returns the address of the first page that shows data, such as the explorer. The default is the front page. */
const next = () => document.querySelector('a[data-shows-data]')?.getAttribute('href') ?? `${publicPath}/`;

/** @param {string} [problem] */
const ask = (problem) => main.replaceChildren(h('h1', 'Sign in'), keyForm({ problem }));

const signedIn = () =>
  main.replaceChildren(
    h('h1', 'Signed in'),
    h(
      'p',
      { class: 'notice', role: 'status' },
      'This browser has stored a key for this service. ',
      h('button', { type: 'button', class: 'quiet', onclick: () => setKey('') }, 'Forget key'),
    ),
  );

const redeem = async () => {
  const response = await fetch(`${publicPath}/one-time-code`, { method: 'POST', headers: { 'One-Time-Code': code } });
  if (!response.ok) throw new Error(`${response.status}`);
  setKey((await response.json()).key);
};

const start = async () => {
  if (code === '') return getKey() === '' ? ask() : signedIn();
  try {
    await redeem();
  } catch {
    ask('This link has been used or has expired.');
  }
};

addEventListener('keychange', () => {
  if (getKey() === '') ask();
  else location.replace(next());
});
void start();

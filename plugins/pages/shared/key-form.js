/** Asks for the key, once a tab. */
import { setKey } from './api.js';
import { h } from './dom.js';

/**
 * @param {{ heading: string, problem?: string }} options `problem`: why the key that was there will not do
 */
export const keyForm = ({ heading, problem }) => {
  const error = h('p', { id: 'key-error', class: 'problem', role: 'alert', hidden: problem === undefined }, problem);
  const input = h('input', {
    id: 'key',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    required: true,
    'aria-describedby': 'key-error key-hint',
    'aria-invalid': problem === undefined ? undefined : 'true',
  });
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    const key = input.value.trim();
    // A header takes visible ASCII alone: anything else was mangled on its way.
    if (/^[\x21-\x7e]+$/.test(key)) setKey(key);
    else {
      error.hidden = false;
      error.textContent = 'This is not a key: one is a single word of letters, digits and signs.';
      input.setAttribute('aria-invalid', 'true');
      input.focus();
    }
  };
  return h(
    'form',
    { class: 'key-form', onsubmit: submit, novalidate: true },
    h('h2', {}, heading),
    error,
    h('label', { for: 'key' }, 'API key'),
    h('div', { class: 'row' }, input, h('button', { type: 'submit' }, 'Use this key')),
    h(
      'p',
      { id: 'key-hint', class: 'muted' },
      'It stays in this tab and is sent to this service alone. A service started with the embedded sample prints a key ',
      'at its start; otherwise ask whoever runs the service, who makes keys with ',
      h('code', {}, 'metro-forecast keys create'),
      '.',
    ),
  );
};

/** The form for the API key. */
import { setKey } from './api.js';
import { h } from './dom.js';

/**
 * @param {{ heading: string, problem?: string }} options `problem`: why the current key is not accepted
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
    // A header accepts visible ASCII only.
    if (/^[\x21-\x7e]+$/.test(key)) setKey(key);
    else {
      error.hidden = false;
      error.textContent = 'This is not a key. A key is one word of letters, digits and signs.';
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
      'The key stays in this tab and is sent only to this service. A service with the embedded sample prints a key ',
      'when it starts. Otherwise ask the operator of the service, who creates keys with ',
      h('code', {}, 'metro-forecast keys create'),
      '.',
    ),
  );
};

import { getKeyUrl, setKey } from './api.js';
import { h } from './dom.js';

/**
 * @param {{ heading?: string, problem?: string | undefined }} options `heading`: absent if the page already has a
 *   heading; `problem`: why the user must enter a key
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
  const remember = h('input', { id: 'remember-key', type: 'checkbox', checked: true });
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    const key = input.value.trim();
    // In an HTTP header, a key can contain only visible ASCII characters.
    if (/^[\x21-\x7e]+$/.test(key)) setKey(key, { remember: remember.checked });
    else {
      error.hidden = false;
      error.textContent = 'This is not a key. A key consists of letters, digits and punctuation, without spaces.';
      input.setAttribute('aria-invalid', 'true');
      input.focus();
    }
  };
  return h(
    'form',
    { class: 'key-form', onsubmit: submit, novalidate: true },
    heading && h('h2', heading),
    error,
    h('label', { for: 'key' }, 'API key'),
    h('div', { class: 'row' }, input, h('button', { type: 'submit' }, 'Use this key')),
    h('label', { class: 'check' }, remember, 'Remember the key in this browser'),
    h(
      'p',
      { id: 'key-hint', class: 'muted' },
      ...(getKeyUrl === ''
        ? ['Keys are issued by the operator of this service. ']
        : [h('a', { href: getKeyUrl }, 'Get a key'), '. ']),
      'The key is sent only to this service. On a shared computer, untick “Remember the key”: the browser then forgets ',
      'it when you close this tab.',
    ),
  );
};

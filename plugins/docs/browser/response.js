import { getKey, send } from '../../../core/pages/shared/api.js';
import { h } from '../../../core/pages/shared/dom.js';
import { bytes, counted } from '../../../core/pages/shared/format.js';
import { codeBlock, coloured, linkTo, panel, placeOf, problem, unreachable } from './parts.js';

/** @import { Operation } from './model.js' */

/** Browsers are slow at displaying megabytes of text, so longer responses are truncated. */
const SHOWN_CHARACTERS = 20_000;

/** @param {string} text @param {string} type */
const readable = (text, type) => {
  if (!type.includes('json')) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

/** @param {string} text */
const codeOf = (text) => {
  try {
    return String(JSON.parse(text).code ?? '');
  } catch {
    return '';
  }
};

/**
 * @param {Operation} operation @param {Response} response @param {ArrayBuffer} content @param {number} ms
 * @param {() => void} close
 */
const triedResponse = ({ headers }, response, content, ms, close) => {
  const type = response.headers.get('content-type') ?? '';
  const size = bytes(content.byteLength);
  const text = /json|^text\//.test(type) ? new TextDecoder().decode(content) : `Binary data, ${size}`;
  const body = readable(text, type).slice(0, SHOWN_CHARACTERS);
  const code = response.ok ? '' : codeOf(text);
  const rows = [...response.headers]
    .filter(
      ([name]) => headers.some((known) => known.toLowerCase() === name) || /^content-(type|length)$|^retry/.test(name),
    )
    .map(([name, value]) => {
      const known = headers.find((one) => one.toLowerCase() === name);
      return h(
        'div',
        h('dt', known ? h('a', { href: linkTo(placeOf('headers', known)) }, known) : name),
        h('dd', value),
      );
    });
  return panel(
    'Response to your request',
    [
      h(
        'span',
        { class: `status ${response.ok ? 'good' : 'bad'}` },
        `${response.status} ${response.statusText}`.trim(),
      ),
      h('span', { class: 'facts' }, `${ms} ms · ${size}`),
      h('button', { type: 'button', class: 'quiet', onclick: close }, 'Example'),
    ],
    [
      code !== '' &&
        h(
          'p',
          { class: 'advice' },
          'About this error: ',
          h('a', { href: linkTo(placeOf('errors', code)) }, h('code', code)),
        ),
      h('details', { class: 'sent' }, h('summary', counted(rows.length, 'header')), h('dl', ...rows)),
      codeBlock('Response body', type.includes('json') ? coloured(body) : body),
      text.length > body.length &&
        body.length === SHOWN_CHARACTERS &&
        h('p', { class: 'advice' }, `Only the first ${SHOWN_CHARACTERS.toLocaleString('en')} characters are shown.`),
    ],
  );
};

/** @returns {HTMLElement} */
const keyNeeded = () => {
  const link = h('a', { href: linkTo(placeOf('authentication')) }, 'enter yours');
  return problem('No key', ['This endpoint needs a key: ', link, ', then send the request again.']);
};

/**
 * The promise never rejects.
 * @param {Operation} operation @param {{ target: string, query: readonly (readonly [string, string])[] }} call
 * @param {() => void} close
 * @returns {Promise<HTMLElement>}
 */
export const respond = async (operation, { target, query }, close) => {
  if (operation.needsKey && getKey() === '') return keyNeeded();
  const search = new URLSearchParams(query.map(([name, value]) => [name, value])).toString();
  const started = performance.now();
  try {
    const response = await send(search === '' ? target : `${target}?${search}`, {
      key: operation.takesKey,
      accept: '*/*',
    });
    const content = await response.arrayBuffer();
    return triedResponse(operation, response, content, Math.round(performance.now() - started), close);
  } catch {
    return unreachable();
  }
};

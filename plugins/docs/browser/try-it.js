/** The request of an endpoint as the reader fills it in, in the language of all samples; sends it, and shows the response. */
import { basePath, getKey, send } from '../../pages/shared/api.js';
import { copyButton, h } from '../../pages/shared/dom.js';
import { language, languageChoice, onLanguage } from './language.js';
import { codeBlock, coloured, exampleText, linkTo, panel, placeOf, radios } from './parts.js';
import { LANGUAGES } from './samples.js';

/** @typedef {import('./model.js').Operation} Operation */
/** @typedef {import('./model.js').Parameter} Parameter */
/** @typedef {{ parameter: Parameter, value: string }} Filled */

/** More is cut off: a page with megabytes of text in it stands still. */
const SHOWN_CHARACTERS = 20_000;

/** @param {Operation} operation @param {Parameter} parameter @param {() => void} onchange */
const field = (operation, parameter, onchange) => {
  const { name, schema, required, example } = parameter;
  const id = `${operation.id}-${name}`;
  const values = schema['enum'] ?? (schema['type'] === 'boolean' ? [true, false] : undefined);
  // Required parameters are filled in, so that the first try gets a 200.
  const first = required ? (example ?? '') : '';
  const control = values
    ? h(
        'select',
        { id, onchange },
        ...[...(required ? [] : ['']), ...values].map((value) =>
          h('option', { value, selected: value === first }, value === '' ? '–' : value),
        ),
      )
    : h('input', {
        id,
        value: first,
        placeholder: example ?? '',
        inputmode: schema['type'] === 'integer' ? 'numeric' : undefined,
        autocomplete: 'off',
        spellcheck: 'false',
        oninput: onchange,
      });
  const element = h(
    'div',
    {},
    h('label', { for: id }, name, required ? h('span', { class: 'needed' }, ' required') : ''),
    control,
  );
  return { element, control, parameter };
};

/** @param {Operation} operation @param {readonly Filled[]} filled */
const callOf = ({ path, needsKey }, filled) => {
  let target = path;
  for (const { parameter, value } of filled) {
    if (parameter.place === 'path') target = target.replaceAll(`{${parameter.name}}`, encodeURIComponent(value));
  }
  const query = filled
    .filter(({ parameter, value }) => parameter.place === 'query' && value !== '')
    .map(({ parameter, value }) => /** @type {const} */ ([parameter.name, value]));
  const text = query.some(([name, value]) => name === 'format' && value !== 'json');
  return { url: `${location.origin}${basePath}${target}`, target, query, needsKey, text };
};

/** @param {string} text @param {string} type */
const readable = (text, type) => {
  if (!type.includes('json')) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

/** @param {number} bytes */
const size = (bytes) => (bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(bytes < 100_000 ? 1 : 0)} kB`);

/** @param {string} text */
const codeOf = (text) => {
  try {
    return String(JSON.parse(text).code ?? '');
  } catch {
    return '';
  }
};

/** The example of the document, in each format. @param {Operation} operation */
const exampleResponse = ({ id, contents }) => {
  const label = 'Example of a response';
  const shown = h('div');
  const show = (/** @type {{ type: string, example: unknown }} */ { type, example }) => {
    const text = exampleText(example);
    shown.replaceChildren(codeBlock(label, type.includes('json') ? coloured(text) : text));
  };
  const choices =
    contents.length < 2
      ? null
      : radios(
          'Format of the example',
          contents.map((content, index) => ({
            input: h('input', {
              type: 'radio',
              name: `${id}-format-shown`,
              checked: index === 0,
              onchange: () => show(content),
            }),
            text: content.type.replace(/^.*\/(x-)?/, '').toUpperCase(),
          })),
        );
  if (contents[0]) show(contents[0]);
  return panel(label, [h('span', { class: 'title' }, 'Response'), choices], shown);
};

/** The body, or what there is to say of one that is no text. @param {Response} response */
const textOf = async (response) => {
  const type = response.headers.get('content-type') ?? '';
  if (/json|^text\//.test(type)) return response.text();
  return `${(await response.arrayBuffer()).byteLength.toLocaleString('en')} bytes`;
};

/**
 * @param {Operation} operation
 * @param {Response} response
 * @param {string} text
 * @param {number} ms
 * @param {() => void} close
 */
const triedResponse = ({ headers }, response, text, ms, close) => {
  const type = response.headers.get('content-type') ?? '';
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
        {},
        h('dt', {}, known ? h('a', { href: linkTo(placeOf('headers', known)) }, known) : name),
        h('dd', {}, value),
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
      h('span', { class: 'facts' }, `${ms} ms · ${size(new TextEncoder().encode(text).length)}`),
      h('button', { type: 'button', class: 'quiet', onclick: close }, 'Example'),
    ],
    [
      code === ''
        ? null
        : h(
            'p',
            { class: 'advice' },
            'About this error: ',
            h('a', { href: linkTo(placeOf('errors', code)) }, h('code', {}, code)),
          ),
      h('details', { class: 'sent' }, h('summary', {}, `${rows.length} headers`), h('dl', {}, ...rows)),
      codeBlock('Body of the response', type.includes('json') ? coloured(body) : body),
      text.length > body.length && body.length === SHOWN_CHARACTERS
        ? h('p', { class: 'advice' }, `Cut after ${SHOWN_CHARACTERS.toLocaleString('en')} characters.`)
        : null,
    ],
  );
};

/** @param {string} title @param {import('../../pages/shared/dom.js').Children} text */
const problem = (title, text) =>
  panel(
    'Response to your request',
    h('span', { class: 'status bad' }, title),
    h('p', { class: 'advice' }, ...[text].flat()),
  );

/** @param {Operation} operation @returns {HTMLElement} a form: the request, what it takes, and the response */
export const tryIt = (operation) => {
  const code = h('div');
  const answer = h('div', { class: 'answer', role: 'status' });
  const fields = operation.parameters.map((parameter) => field(operation, parameter, () => write()));
  const call = () =>
    callOf(
      operation,
      fields.map(({ parameter, control }) => ({ parameter, value: control.value.trim() })),
    );
  const sample = () => /** @type {(typeof LANGUAGES)[string]} */ (LANGUAGES[language()]).write(call());
  const write = () => {
    code.replaceChildren(codeBlock(`Sample of ${operation.path} in ${language()}`, coloured(sample())));
  };
  const showExample = () => answer.replaceChildren(exampleResponse(operation));
  const button = h('button', { type: 'submit' }, 'Send');

  const run = async () => {
    if (operation.needsKey && getKey() === '') {
      const link = h('a', { href: linkTo(placeOf('authentication')) }, 'enter yours');
      answer.replaceChildren(problem('No key', ['This endpoint needs a key: ', link, ', then send again.']));
      return;
    }
    const { target, query } = call();
    const search = new URLSearchParams(query.map(([name, value]) => [name, value])).toString();
    button.disabled = true;
    const started = performance.now();
    try {
      const response = await send(search === '' ? target : `${target}?${search}`, {
        key: operation.needsKey,
        accept: '*/*',
      });
      const text = await textOf(response);
      const ms = Math.round(performance.now() - started);
      answer.replaceChildren(triedResponse(operation, response, text, ms, showExample));
    } catch {
      answer.replaceChildren(
        problem('No response', 'The service cannot be reached. Check that it runs, and try again.'),
      );
    } finally {
      button.disabled = false;
    }
  };
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    void run();
  };

  write();
  showExample();
  onLanguage(write);
  return h(
    'form',
    { class: 'try', onsubmit: submit, novalidate: true, 'aria-label': `Try ${operation.path}` },
    panel(
      'Request',
      [languageChoice(`${operation.id}-language`), copyButton(sample)],
      [
        code,
        h(
          'div',
          { class: 'foot' },
          fields.length > 0
            ? h(
                'details',
                {},
                h('summary', {}, 'Parameters'),
                h('div', { class: 'fields' }, ...fields.map(({ element }) => element)),
              )
            : null,
          button,
        ),
      ],
    ),
    answer,
  );
};

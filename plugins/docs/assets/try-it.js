/** Sends a request as the reader fills it in, with the reader's key, and shows the answer. */
import { basePath, curlOf, getKey, send } from './api.js';
import { copyButton, h } from './dom.js';

/** @typedef {Record<string, any>} Parameter of the document, resolved */

/** More is cut off: a page with megabytes of text in it stands still. */
const SHOWN_CHARACTERS = 20_000;
const SHOWN_HEADERS = ['content-type', 'etag', 'snapshot-version', 'ratelimit', 'retry-after', 'x-request-id'];

/** @param {string} id @param {Parameter} parameter */
const field = (id, parameter) => {
  const { name, schema = {}, required, example } = parameter;
  const values = schema.enum ?? (schema.type === 'boolean' ? [true, false] : undefined);
  // What has to be there is filled in, so that a first try answers.
  const first = required || parameter['in'] === 'path' ? (example ?? schema.default ?? '') : '';
  const control = values
    ? h(
        'select',
        { id },
        ...[...(required ? [] : ['']), ...values].map((value) =>
          h('option', { value, selected: value === first }, value === '' ? '(none)' : value),
        ),
      )
    : h('input', {
        id,
        value: first,
        placeholder: example ?? schema.default ?? '',
        inputmode: schema.type === 'integer' ? 'numeric' : undefined,
        autocomplete: 'off',
      });
  const element = h('div', {}, h('label', { for: id }, name, required ? ' (required)' : ''), control);
  return { element, control, parameter };
};

/**
 * @param {string} path with its parameters in braces
 * @param {readonly { parameter: Parameter, value: string }[]} filled
 */
export const targetOf = (path, filled) => {
  const query = new URLSearchParams();
  let target = path;
  for (const { parameter, value } of filled) {
    const name = parameter['name'];
    if (parameter['in'] === 'path') target = target.replaceAll(`{${name}}`, encodeURIComponent(value));
    else if (parameter['in'] === 'query' && value !== '') query.append(name, value);
  }
  const text = query.toString();
  return text === '' ? target : `${target}?${text}`;
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

/**
 * @param {string} path
 * @param {{ operationId: string, parameters: readonly Parameter[], needsKey: boolean }} operation
 */
export const tryIt = (path, { operationId, parameters, needsKey }) => {
  const fields = parameters.map((parameter) => field(`${operationId}-${parameter['name']}`, parameter));
  const answer = h('div', { class: 'answer', role: 'status' });
  const button = h('button', { type: 'submit' }, 'Send');
  const run = async () => {
    const filled = fields.map(({ parameter, control }) => ({ parameter, value: control.value.trim() }));
    const target = targetOf(path, filled);
    const started = performance.now();
    button.disabled = true;
    try {
      const response = await send(target, { key: needsKey, accept: '*/*' });
      const text = await response.text();
      showAnswer(answer, target, response, text, Math.round(performance.now() - started));
    } catch {
      answer.replaceChildren(
        h('p', { class: 'problem' }, 'The service cannot be reached. Check that it runs, and try again.'),
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
  return h(
    'form',
    { class: 'try', onsubmit: submit, novalidate: true },
    h('div', { class: 'row' }, ...fields.map(({ element }) => element), button),
    answer,
  );
};

/** @param {HTMLElement} place @param {string} target @param {Response} response @param {string} text @param {number} ms */
const showAnswer = (place, target, response, text, ms) => {
  const body = readable(text, response.headers.get('content-type') ?? '');
  const head = SHOWN_HEADERS.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [`${name}: ${value}`];
  });
  const advice =
    response.status === 401 && getKey() === '' ? 'This endpoint needs a key: enter yours at the top of the page.' : '';
  place.replaceChildren(
    h(
      'p',
      {},
      h('strong', {}, `${response.status} ${response.statusText}`),
      ` in ${ms} ms, ${text.length} characters `,
      h('code', {}, `GET ${basePath}${target}`),
    ),
    ...(advice ? [h('p', { class: 'problem' }, advice)] : []),
    h('pre', { tabindex: '0' }, h('code', {}, head.join('\n'))),
    h('pre', { tabindex: '0', class: 'body' }, h('code', {}, body.slice(0, SHOWN_CHARACTERS))),
    ...(body.length > SHOWN_CHARACTERS
      ? [h('p', { class: 'muted' }, `Cut after ${SHOWN_CHARACTERS} characters.`)]
      : []),
    h('pre', { tabindex: '0' }, h('code', {}, curlOf(target))),
    ...[copyButton(() => curlOf(target))].filter((button) => button !== null),
  );
};

import { basePath, getKey } from '../../../core/pages/shared/api.js';
import { copyButton, h } from '../../../core/pages/shared/dom.js';
import { language, languageChoice, onLanguage } from './language.js';
import { codeBlock, coloured, exampleText, panel, radios, unreachable } from './parts.js';
import { LANGUAGES } from './samples.js';

/** @import { Operation, Parameter } from './model.js' */

/** @typedef {{ parameter: Parameter, name: string, value: string }} Filled */

/** @param {Operation} operation @param {Parameter} parameter @param {() => void} onchange */
const field = (operation, parameter, onchange) => {
  const { name, schema, required, example, operators } = parameter;
  const id = `${operation.id}-${name}`;
  const values = schema['enum'] ?? (schema['type'] === 'boolean' ? [true, false] : undefined);
  // With example values, users can send a first request without filling in the form.
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
  const operator =
    operators.length > 0 &&
    h(
      'select',
      { 'aria-label': `Operator for ${name}`, onchange },
      ...['', ...operators].map((each) => h('option', { value: each }, each || '=')),
    );
  const element = h(
    'div',
    h('label', { for: id }, name, required ? h('span', { class: 'needed' }, ' required') : ''),
    operator,
    control,
  );
  return {
    element,
    control,
    parameter,
    written: () => (operator && operator.value !== '' ? `${name}[${operator.value}]` : name),
  };
};

/** @param {Operation} operation @param {readonly Filled[]} filled */
const callOf = ({ path, takesKey, needsKey }, filled) => {
  let target = path;
  for (const { parameter, value } of filled) {
    if (parameter.place === 'path') target = target.replaceAll(`{${parameter.name}}`, encodeURIComponent(value));
  }
  const query = filled
    .filter(({ parameter, value }) => parameter.place === 'query' && value !== '')
    .map(({ name, value }) => /** @type {const} */ ([name, value]));
  const text = query.some(([name, value]) => name === 'format' && value !== 'json');
  // The service rejects an empty key, even if the operation needs no key.
  const sendsKey = needsKey || (takesKey && getKey() !== '');
  return { url: `${location.origin}${basePath}${target}`, target, query, sendsKey, text };
};

/** @param {Operation} operation */
const exampleResponse = ({ id, contents }) => {
  const label = 'Example response';
  const shown = h('div');
  const show = (/** @type {{ type: string, example: unknown }} */ { type, example }) => {
    const text = exampleText(example);
    shown.replaceChildren(codeBlock(label, type.includes('json') ? coloured(text) : text));
  };
  const choices =
    contents.length > 1 &&
    radios(
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

/** @param {readonly { element: HTMLElement }[]} fields */
const parameterFields = (fields) =>
  fields.length > 0 &&
  h('details', h('summary', 'Parameters'), h('div', { class: 'fields' }, ...fields.map(({ element }) => element)));

/** @param {Operation} operation @returns {HTMLElement} */
export const tryIt = (operation) => {
  const code = h('div');
  const answer = h('div', { class: 'answer', role: 'status' });
  const fields = operation.parameters.map((parameter) => field(operation, parameter, () => write()));
  const call = () =>
    callOf(
      operation,
      fields.map(({ parameter, control, written }) => ({ parameter, name: written(), value: control.value.trim() })),
    );
  const sample = () => /** @type {(typeof LANGUAGES)[string]} */ (LANGUAGES[language()]).write(call());
  const write = () => {
    code.replaceChildren(codeBlock(`Sample request to ${operation.path} in ${language()}`, coloured(sample())));
  };
  const showExample = () => answer.replaceChildren(exampleResponse(operation));
  const button = h('button', { type: 'submit' }, 'Send');
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    button.disabled = true;
    const shown = await import('./response.js').then(
      ({ respond }) => respond(operation, call(), showExample),
      unreachable,
    );
    answer.replaceChildren(shown);
    button.disabled = false;
  };
  write();
  showExample();
  onLanguage(write);
  addEventListener('keychange', write);
  const foot = h('div', { class: 'foot' }, parameterFields(fields), button);
  return h(
    'form',
    { class: 'try', onsubmit: submit, novalidate: true, 'aria-label': `Try ${operation.path}` },
    panel('Request', [languageChoice(`${operation.id}-language`), copyButton(sample)], [code, foot]),
    answer,
  );
};

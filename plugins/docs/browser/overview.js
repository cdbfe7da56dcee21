import { anonymousLimits, basePath, curlOf, getKey, setKey } from '../../../core/pages/shared/api.js';
import { h } from '../../../core/pages/shared/dom.js';
import { keyForm } from '../../../core/pages/shared/key-form.js';
import { inline, prose } from '../../../core/pages/shared/markdown.js';
import { fieldList } from './operation.js';
import { codePanel, exampleText, linkTo, nameLink, placeOf, section } from './parts.js';

/** @import { Model, Operation } from './model.js' */

/** @param {Model['about']} about */
const facts = ({ contact = {}, license, termsOfService }) => {
  const { name, url, email } = contact;
  const who = url
    ? h('a', { href: url }, name ?? url)
    : email
      ? h('a', { href: `mailto:${email}` }, name ?? email)
      : name;
  const licence = license && (license.url ? h('a', { href: license.url }, license.name) : license.name);
  return [
    who ? h('div', h('dt', 'Contact'), h('dd', who)) : null,
    licence ? h('div', h('dt', 'Licence'), h('dd', licence)) : null,
    termsOfService ? h('div', h('dt', 'Terms'), h('dd', h('a', { href: termsOfService }, 'Terms of service'))) : null,
  ];
};

/** @param {Model} model */
export const introduction = ({ title, version, summary, description, about, operations }) => {
  const first = operations.find(({ parameters, takesKey }) => takesKey && !parameters.some(({ required }) => required));
  return h(
    'section',
    { id: placeOf('introduction'), class: 'part h1', 'data-part': '', 'aria-labelledby': 'title' },
    h(
      'div',
      { class: 'text' },
      h('h1', { id: 'title' }, `${title} `, h('span', { class: 'muted' }, version)),
      summary ? h('p', { class: 'summary' }, ...inline(summary)) : null,
      ...prose(description),
    ),
    h(
      'div',
      { class: 'aside' },
      codePanel('Base URL', 'Base URL', `${location.origin}${basePath}`),
      first && codePanel('First request', 'First request', curlOf(first.path)),
      h(
        'dl',
        { class: 'facts' },
        h(
          'div',
          h('dt', 'For programs'),
          h(
            'dd',
            h('a', { href: `${basePath}/openapi.json` }, 'OpenAPI document'),
            ', ',
            h('a', { href: `${basePath}/openapi.json`, download: 'openapi.json' }, 'download'),
          ),
        ),
        ...facts(about),
      ),
    ),
  );
};

/** @param {...import('../../../core/pages/shared/dom.js').Children} content */
const notice = (...content) => h('div', { class: 'notice', role: 'status' }, ...content);

const keyPlace = () => {
  const place = h('div');
  const form = () => keyForm({ heading: 'Enter your API key to try the endpoints' });
  const content = () => {
    if (getKey() !== '') {
      const forget = h('button', { type: 'button', class: 'quiet', onclick: () => setKey('') }, 'Forget key');
      return notice(h('p', 'Requests from this page include your key.'), forget);
    }
    if (anonymousLimits === '') return form();
    const enter = h(
      'button',
      { type: 'button', class: 'quiet', onclick: () => place.replaceChildren(form()) },
      'Use a key',
    );
    return notice(h('p', `You can try the endpoints without a key, up to ${anonymousLimits}.`), enter);
  };
  const show = () => place.replaceChildren(content());
  addEventListener('keychange', show);
  show();
  return place;
};

const HEADER = 'Authorization: Bearer <API_KEY>';

const withKey = () => [
  h('p', 'Send your API key with every request, in the header ', h('code', 'Authorization'), ':'),
  h('pre', { tabindex: '0' }, h('code', HEADER)),
  h(
    'p',
    'The samples read the key from an environment variable. Without a valid key, the response is a ',
    h('code', '401'),
    '. Endpoints that need no key are marked as such.',
  ),
];

const withoutKey = () => [
  h('p', `Endpoints marked “no key needed” accept up to ${anonymousLimits} without a key.`),
  h('p', 'A key has its own limits. Send the key in the header ', h('code', 'Authorization'), ':'),
  h('pre', { tabindex: '0' }, h('code', HEADER)),
  h('p', 'With an invalid key, the response is a ', h('code', '401'), '.'),
];

export const authentication = () =>
  section(
    { place: placeOf('authentication'), title: 'Authentication' },
    anonymousLimits === '' ? withKey() : withoutKey(),
    keyPlace(),
  );

/** @param {readonly Operation[]} some @param {number} all */
const operationLinks = (some, all) => {
  if (some.length === all) return h('p', { class: 'type' }, 'Every endpoint.');
  const links = h('p', { class: 'chips' }, ...some.map(({ id, path }) => h('a', { href: linkTo(placeOf(id)) }, path)));
  return some.length <= 4 ? links : h('details', h('summary', `${some.length} of ${all} endpoints`), links);
};

/** @param {Model} model */
export const errorsPart = ({ errors, errorFields, operations }) => {
  const example = errors.find(({ code }) => code === 'invalid_parameter') ?? errors[0];
  return section(
    { place: placeOf('errors'), title: 'Errors' },
    [
      h(
        'p',
        'Every error has a status, a stable code, and a message that explains what to do. Programs should check the code.',
      ),
      fieldList(placeOf('errors', 'fields'), errorFields),
      ...errors.map(({ code, status, when, example, headers, operations: some }) =>
        h(
          'div',
          { id: placeOf('errors', code), class: 'entry error' },
          h('h3', h('span', { class: 'status bad' }, status), ' ', nameLink(placeOf('errors', code), h('code', code))),
          h('p', ...inline(when)),
          h('p', { class: 'says' }, `“${/** @type {{ error?: string }} */ (example).error ?? ''}”`),
          headers.includes('Retry-After')
            ? h(
                'p',
                { class: 'type' },
                'With ',
                h('a', { href: linkTo(placeOf('headers', 'Retry-After')) }, 'Retry-After'),
                '.',
              )
            : null,
          operationLinks(some, operations.length),
        ),
      ),
    ],
    example ? codePanel('Example error', `${example.status} response`, exampleText(example.example)) : [],
  );
};

/** @param {Model} model */
export const headersPart = ({ headers }) =>
  section(
    { place: placeOf('headers'), title: 'Response headers' },
    h(
      'ul',
      { class: 'entries' },
      ...headers.map(({ name, description, example }) =>
        h(
          'li',
          { id: placeOf('headers', name), class: 'entry' },
          h('div', { class: 'title' }, nameLink(placeOf('headers', name), h('code', name))),
          h('p', ...inline(description)),
          example === undefined ? null : h('p', { class: 'limits' }, 'For example ', h('code', String(example))),
        ),
      ),
    ),
  );

/** @param {Model} model */
export const changesPart = ({ changes, operations }) => {
  const known = new Map(operations.map((operation) => [operation.id, operation.path]));
  return section(
    { place: placeOf('changes'), title: 'Changes' },
    h(
      'div',
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Changes to the API' },
      h(
        'table',
        h('thead', h('tr', ...['Version', 'Change', 'Endpoints'].map((name) => h('th', { scope: 'col' }, name)))),
        h(
          'tbody',
          ...changes.map(({ version, summary, operations: ids }, index) =>
            h(
              'tr',
              h(
                'th',
                { scope: 'row' },
                version === changes[index - 1]?.version ? h('span', { class: 'hidden-text' }, version) : version,
              ),
              h('td', ...inline(summary)),
              h(
                'td',
                { class: 'chips' },
                ...ids.map((id) => h('a', { href: linkTo(placeOf(id)) }, known.get(id) ?? id)),
              ),
            ),
          ),
        ),
      ),
    ),
  );
};

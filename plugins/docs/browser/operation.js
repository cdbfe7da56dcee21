import { h } from '../../../core/pages/shared/dom.js';
import { counted } from '../../../core/pages/shared/format.js';
import { inline, prose } from '../../../core/pages/shared/markdown.js';
import { linkTo, nameLink, placeOf, section } from './parts.js';
import { tryIt } from './try-it.js';

/** @import { Field, Operation, Parameter } from './model.js' */

/**
 * @param {string} place @param {{ name: string, type: string, limits: string, description: string }} about
 * @param {{ mark: string, children?: readonly Field[], open?: boolean }} more
 */
const entry = (place, { name, type, limits, description }, { mark, children = [], open = false }) =>
  h(
    'li',
    { id: place, class: 'entry' },
    h(
      'div',
      { class: 'title' },
      nameLink(place, h('code', name)),
      h('span', { class: 'type' }, type, ...(limits ? [', ', ...inline(limits)] : [])),
      mark !== '' && h('span', { class: mark === 'required' ? 'needed' : 'type' }, mark),
    ),
    description && h('p', ...inline(description)),
    children.length > 0 &&
      h(
        'details',
        { open },
        h('summary', `${counted(children.length, 'field')} of `, h('code', name)),
        fieldList(place, children),
      ),
  );

/**
 * @param {string} place @param {readonly Field[]} fields
 * @param {Set<string>} [listed] types whose fields the page already lists. The function adds types to the set.
 * @returns {HTMLElement}
 */
export const fieldList = (place, fields, listed) =>
  h(
    'ul',
    { class: 'entries' },
    ...fields.map((field) => {
      // Expands the only field of an envelope, such as `data`.
      const rows = field.type.replace(/^array of /, '');
      const open = listed !== undefined && fields.length === 1 && !listed.has(rows);
      if (open) listed.add(rows);
      return entry(`${place}/${field.name}`, field, {
        mark: field.required ? '' : 'optional',
        children: field.children,
        open,
      });
    }),
  );

/** @param {string} id @param {string} title @param {readonly Parameter[]} parameters */
const parameterList = (id, title, parameters) =>
  parameters.length === 0
    ? []
    : [
        h('h4', title),
        h(
          'ul',
          { class: 'entries' },
          ...parameters.map((parameter) =>
            entry(placeOf(id, 'parameters', parameter.name), parameter, { mark: parameter.required ? 'required' : '' }),
          ),
        ),
      ];

/** @param {Operation} operation @param {Set<string>} listed */
const responseFields = ({ id, type, fields }, listed) => {
  if (fields.length === 0) return [];
  const again = listed.has(type);
  // The type name `object` is ambiguous, because all types without a title have this name.
  if (type !== 'object') listed.add(type);
  const list = fieldList(placeOf(id, 'fields'), fields, listed);
  if (!again) return [list];
  const title = [`${counted(fields.length, 'field')} of `, h('code', type)];
  return [h('details', h('summary', ...title), list)];
};

/** @param {Operation} operation @param {ReadonlySet<string>} everywhere */
const errorLinks = ({ errors }, everywhere) => {
  const own = errors.filter(({ code }) => !everywhere.has(code));
  return [
    h('h4', 'Errors'),
    h(
      'p',
      { class: 'chips' },
      ...own.map(({ status, code }) =>
        h('a', { href: linkTo(placeOf('errors', code)) }, h('span', status), ` ${code}`),
      ),
      h('a', { href: linkTo(placeOf('errors')) }, own.length === 0 ? 'common errors' : 'and common errors'),
    ),
  ];
};

/**
 * @param {Operation} operation
 * @param {{ everywhere: ReadonlySet<string>, listed: Set<string>, pathOf: (id: string) => string }} context
 */
export const operationSection = (operation, { everywhere, listed, pathOf }) => {
  const { id, path, summary, description, parameters, answer, contents, headers, next, needsKey } = operation;
  return section(
    { place: placeOf(id), title: summary, level: 'h3', id },
    [
      h(
        'p',
        { class: 'route' },
        h('span', { class: 'method' }, 'GET'),
        ' ',
        h('code', path),
        needsKey ? null : h('span', { class: 'type' }, ' no key needed'),
      ),
      ...prose(description),
      ...parameterList(
        id,
        'Path parameters',
        parameters.filter(({ place }) => place === 'path'),
      ),
      ...parameterList(
        id,
        'Query parameters',
        parameters.filter(({ place }) => place === 'query'),
      ),
      h('h4', { id: placeOf(id, 'fields') }, 'Response'),
      h(
        'p',
        { class: 'answer-line' },
        ...inline(answer),
        h('span', { class: 'type' }, ` ${contents.map(({ type }) => type).join(', ')}`),
      ),
      ...responseFields(operation, listed),
      headers.length > 0 &&
        h(
          'details',
          { class: 'headers' },
          h('summary', counted(headers.length, 'header')),
          h(
            'p',
            { class: 'chips' },
            ...headers.map((name) => h('a', { href: linkTo(placeOf('headers', name)) }, name)),
          ),
        ),
      ...errorLinks(operation, everywhere),
      ...(next.length > 0
        ? [
            h('h4', 'Related endpoints'),
            h('p', { class: 'chips' }, ...next.map((one) => h('a', { href: linkTo(placeOf(one)) }, pathOf(one)))),
          ]
        : []),
    ],
    tryIt(operation),
  );
};

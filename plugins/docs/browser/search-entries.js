import { headingId } from '../../../core/pages/shared/markdown.js';
import { linkTo, placeOf } from './parts.js';

/** @import { Field, Model } from './model.js' */

/** @typedef {{ kind: string, name: string, where: string, text: string, href: string, rank: number }} Entry */

/** @param {string} place @param {readonly Field[]} fields @returns {{ place: string, field: Field }[]} */
const allFields = (place, fields) =>
  fields.flatMap((field) => {
    const own = `${place}/${field.name}`;
    return [{ place: own, field }, ...allFields(own, field.children)];
  });

/** @param {Model} model @returns {Entry[]} */
export const entriesOf = ({ groups, operations, errors, headers, changes }) => [
  ...[
    { name: 'Introduction', where: 'Conventions, base URL, contact', place: 'introduction' },
    { name: 'Authentication', where: 'API key', place: 'authentication' },
    { name: 'Errors', where: 'Status, message and code', place: 'errors' },
    { name: 'Response headers', where: '', place: 'headers' },
    ...(changes.length > 0 ? [{ name: 'Changes', where: 'API versions', place: 'changes' }] : []),
  ].map(({ name, where, place }) => ({ kind: 'part', name, where, text: '', href: linkTo(placeOf(place)), rank: 20 })),
  ...operations.map(({ id, path, group, summary, description }) => ({
    kind: 'endpoint',
    name: path,
    where: summary,
    text: `${id} ${group} ${groups.find(({ name }) => name === group)?.description} ${description}`,
    href: linkTo(placeOf(id)),
    rank: 3,
  })),
  ...operations.flatMap(({ id, path, parameters, fields }) => [
    ...parameters.map(({ name, description, limits }) => ({
      kind: 'parameter',
      name,
      where: path,
      text: `${description} ${limits}`,
      href: linkTo(placeOf(id, 'parameters', name)),
      rank: 1,
    })),
    ...allFields(placeOf(id, 'fields'), fields).map(({ place, field: { name, description, limits } }) => ({
      kind: 'field',
      name,
      where: path,
      text: `${description} ${limits}`,
      href: linkTo(place),
      rank: 0,
    })),
  ]),
  ...errors.map(({ code, status, when }) => ({
    kind: 'error',
    name: code,
    where: when,
    text: status,
    href: linkTo(placeOf('errors', code)),
    rank: 2,
  })),
  ...headers.map(({ name, description }) => ({
    kind: 'header',
    name,
    where: description,
    text: '',
    href: linkTo(placeOf('headers', name)),
    rank: 2,
  })),
];

/** @returns {Promise<Entry[]>} */
const guideEntries = async () => {
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll('#guides a')]);
  const guides = links.map(async (link) => {
    const guide = link.textContent ?? '';
    const response = await fetch(`${link.href}/guide.md`);
    const text = response.ok ? await response.text() : '';
    const headings = [...text.replace(/^```.*?^```/gms, '').matchAll(/^##+ (.+)$/gm)].map(
      ([, heading = '']) => heading,
    );
    return [
      { kind: 'guide', name: guide, where: '', text: '', href: link.href, rank: 2 },
      ...headings.map((name) => ({
        kind: 'guide',
        name,
        where: guide,
        text: '',
        href: `${link.href}#${headingId(name)}`,
        rank: 2,
      })),
    ];
  });
  return (await Promise.all(guides)).flat();
};

/** @returns {Promise<Entry[]>} */
const pageEntries = async () => {
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll('.top .end a')]);
  const pages = links.map(async (link) => {
    const page = link.textContent ?? '';
    const response = await fetch(link.href);
    const text = response.ok ? await response.text() : '';
    // The content security policy (`trusted-types 'none'`) blocks HTML parsing, so a regular expression finds the
    // links.
    const views = [...text.matchAll(/<a href="(#\/[^"]+)"(?: title="([^"]*)")?>([^<]+)<\/a>/g)];
    return [
      { kind: 'page', name: page, where: '', text: '', href: link.href, rank: 2 },
      ...views.map(([, view = '', title = '', name = '']) => ({
        kind: 'page',
        name: `${page}: ${name}`,
        where: title,
        text: '',
        href: `${link.href}${view}`,
        rank: 2,
      })),
    ];
  });
  return (await Promise.all(pages)).flat();
};

/** @returns {Promise<Entry[]>} */
export const remoteEntries = async () => (await Promise.all([guideEntries(), pageEntries()])).flat();

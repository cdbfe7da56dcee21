/** Sets the text of a guide, with a list of its parts beside it. */
import { find, h } from '../shared/dom.js';
import { blocksOf, headingId } from '../shared/markdown.js';

const main = find('#main');

/** The page's own address, without the folder of its files. */
const here = location.pathname.replace(/\/$/, '');

/** Documents that are pages here, by the address of the page; links to the others would lead nowhere. */
const guides = () => new Set([...document.querySelectorAll('.guides a')].map((link) => link.getAttribute('href')));

/** @param {string} target of a link in a document of `docs/` */
const addressOf = (target) => {
  if (/^https?:|^#/.test(target)) return target;
  const [, name, part = ''] = /^([\w-]+)\.md(#.*)?$/.exec(target) ?? [];
  const address = `${here.replace(/[^/]+$/, '')}${name}`;
  return name !== undefined && guides().has(address) ? `${address}${part}` : null;
};

/** @param {readonly HTMLElement[]} elements */
const listParts = (elements) => {
  const headings = elements.filter((element) => element.matches('h2'));
  if (headings.length < 2) return;
  find('.parts').replaceChildren(
    h('p', {}, 'On this page'),
    h('ul', {}, ...headings.map((heading) => h('li', {}, h('a', { href: `#${heading.id}` }, heading.textContent)))),
  );
};

/**
 * @param {(name: string) => HTMLElement} [figures] makes the place of figures that the document leaves to the service
 * @returns {Promise<HTMLElement[]>} the elements of the text
 */
export const showGuide = async (figures = () => h('div')) => {
  for (const link of document.querySelectorAll('.guides a')) {
    if (link.getAttribute('href') === here) link.setAttribute('aria-current', 'page');
  }
  const markdown = await (await fetch(new URL('../../guide.md', import.meta.url))).text();
  // Documents call a service at its default address; the page knows that of its own.
  const text = markdown.replaceAll('http://127.0.0.1:8080', location.origin);
  const elements = blocksOf(text, addressOf).map((block) =>
    block.kind === 'element' ? block.element : figures(block.name),
  );
  for (const heading of elements) {
    if (heading.matches('h2, h3')) heading.id = headingId(heading.textContent ?? '');
  }
  main.replaceChildren(...elements);
  listParts(elements);
  // The browser looked for the address's part before it was there.
  if (location.hash.length > 1) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  return elements;
};

import { fetchFile, publicPath } from '../shared/api.js';
import { find, h } from '../shared/dom.js';
import { blocksOf, headingId } from '../shared/markdown.js';

const main = find('#main');

/**
 * Converts the target of a link in a Markdown file. A path of another Markdown file becomes the address of its page, or
 * null if the service does not serve the file.
 * @param {string} target
 */
const addressOf = (target) => {
  if (/^https?:|^#/.test(target)) return target;
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll('.guides a')]);
  const own = links.find((link) => link.matches('[aria-current]'))?.dataset['document'] ?? '';
  const { pathname, hash } = new URL(target, `file:///${own}`);
  const link = links.find((each) => `/${each.dataset['document']}` === pathname);
  return link ? `${link.getAttribute('href')}${hash}` : null;
};

/** @param {readonly HTMLElement[]} elements */
const listParts = (elements) => {
  const headings = elements.filter((element) => element.matches('h2'));
  if (headings.length < 2) return;
  find('.parts').replaceChildren(
    h('p', 'On this page'),
    h('ul', ...headings.map((heading) => h('li', h('a', { href: `#${heading.id}` }, heading.textContent)))),
  );
};

/** @param {(name: string) => Promise<HTMLElement>} [figures] @returns {Promise<HTMLElement[]>} */
export const showGuide = async (figures = async () => h('div')) => {
  const markdown = await (await fetchFile(new URL('../../../guide.md', import.meta.url))).text();
  // Commands in a guide contain the address of this service, so that users can paste them.
  const text = markdown.replaceAll('http://127.0.0.1:8080', location.origin + publicPath);
  const blocks = blocksOf(text, addressOf);
  const elements = await Promise.all(
    blocks.map((block) => (block.kind === 'element' ? block.element : figures(block.name))),
  );
  for (const heading of elements) {
    if (heading.matches('h2, h3')) heading.id = headingId(heading.textContent ?? '');
  }
  main.replaceChildren(...elements);
  listParts(elements);
  // When the browser tried to scroll to the fragment, the text was not loaded yet.
  if (location.hash.length > 1) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  return elements;
};

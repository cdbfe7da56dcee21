/** The Markdown of our documents as elements: headings, paragraphs, lists, tables, links, code and emphasis. */
import { h } from './dom.js';

/** @typedef {import('./dom.js').Child} Child */
/** @typedef {{ kind: 'figures', name: string } | { kind: 'element', element: HTMLElement }} Block */

/** @type {(text: string) => Child[]} */
export const inline = (text) =>
  text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).map((part) => {
    if (/^`.+`$/.test(part)) return h('code', {}, part.slice(1, -1));
    if (/^\*\*.+\*\*$/s.test(part)) return h('strong', {}, ...inline(part.slice(2, -2)));
    const [, words, target] = /^\[([^\]]+)\]\((https:[^)]+)\)$/.exec(part) ?? [];
    return words && target ? h('a', { href: target }, words) : part.replace(/\s+/g, ' ');
  });

/**
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows the first cell of each heads it; all may have Markdown
 */
export const table = (head, rows) => {
  const heading = h('tr', {}, ...head.map((cell) => h('th', { scope: 'col' }, ...inline(cell))));
  /** @param {readonly string[]} cells */
  const line = ([first = '', ...rest]) =>
    h('tr', {}, h('th', { scope: 'row' }, ...inline(first)), ...rest.map((cell) => h('td', {}, ...inline(cell))));
  const body = h('tbody', {}, ...rows.map(line));
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': head.filter(Boolean).join(', ') || 'Table' },
    h('table', {}, head.some(Boolean) ? h('thead', {}, heading) : null, body),
  );
};

/** @param {string} text lines that begin with `|` */
const tableOf = (text) => {
  const [head = [], , ...rows] = text.split('\n').map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return table(head, rows);
};

/** @param {string} text one paragraph, heading, list or table */
const elementOf = (text) => {
  const [, marks, title] = /^(#+) (.+)$/s.exec(text) ?? [];
  if (marks && title) return h(marks.length === 1 ? 'h1' : marks.length === 2 ? 'h2' : 'h3', {}, ...inline(title));
  if (text.startsWith('|')) return tableOf(text);
  if (text.startsWith('- ')) {
    return h(
      'ul',
      {},
      ...text
        .slice(2)
        .split(/\n- /)
        .map((item) => h('li', {}, ...inline(item))),
    );
  }
  return h('p', {}, ...inline(text));
};

/**
 * @param {string} markdown what stands between `<!-- figures NAME -->` and `<!-- /figures -->` is left out
 * @returns {Block[]}
 */
export const blocksOf = (markdown) =>
  markdown
    .replace(/(<!-- figures \w+ -->).*?<!-- \/figures -->/gs, '$1')
    .split(/\n\s*\n/)
    .map((text) => text.trim())
    .filter(Boolean)
    .map((text) => {
      const name = /^<!-- figures (\w+) -->$/.exec(text)?.[1];
      return name ? { kind: 'figures', name } : { kind: 'element', element: elementOf(text) };
    });

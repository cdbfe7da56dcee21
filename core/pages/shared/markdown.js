import { copyButton, h } from './dom.js';

/** @import { Child } from './dom.js' */

/** @typedef {{ kind: 'figures', name: string } | { kind: 'element', element: HTMLElement }} Block */
/** @typedef {(target: string) => string | null} Addresses */

/** @type {Addresses} */
const webAddress = (target) => (/^https?:/.test(target) ? target : null);

/** @type {(text: string, addressOf?: Addresses) => Child[]} */
export const inline = (text, addressOf = webAddress) =>
  text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\)|<https?:[^>]+>)/).map((part) => {
    if (/^`.+`$/s.test(part)) return h('code', part.slice(1, -1));
    if (/^\*\*.+\*\*$/s.test(part)) return h('strong', ...inline(part.slice(2, -2), addressOf));
    if (/^<http.+>$/.test(part)) return h('a', { href: part.slice(1, -1) }, part.slice(1, -1));
    const [, words, target] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part) ?? [];
    if (words === undefined || target === undefined) return part.replace(/\s+/g, ' ');
    const address = addressOf(target);
    return address === null ? words : h('a', { href: address }, ...inline(words));
  });

/** @param {string | undefined} text */
export const prose = (text) =>
  (text ?? '')
    .split(/\n\s*\n/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) => h('p', ...inline(paragraph)));

const NUMBER = /^[-−+]?\d[\d,.]*( ?(%|pp|points))?$/;

/** @param {readonly (readonly string[])[]} rows @param {number} column */
export const isNumeric = (rows, column) => {
  const cells = rows.map((row) => row[column] ?? '').filter((cell) => cell !== '' && cell !== '–');
  return cells.length > 0 && cells.every((cell) => NUMBER.test(cell));
};

/** @param {readonly string[]} head @param {readonly (readonly string[])[]} rows @param {Addresses} [addressOf] */
const table = (head, rows, addressOf) => {
  const classes = head.map((_, column) => (column > 0 && isNumeric(rows, column) ? 'number' : undefined));
  // Screen readers announce an empty `th` as a heading without text.
  const headOf = (/** @type {string} */ cell, /** @type {number} */ column) =>
    cell === '' ? h('td') : h('th', { scope: 'col', class: classes[column] }, ...inline(cell, addressOf));
  const heading = h('tr', ...head.map(headOf));
  /** @param {readonly string[]} cells */
  const line = ([first = '', ...rest]) =>
    h(
      'tr',
      h('th', { scope: 'row' }, ...inline(first, addressOf)),
      ...rest.map((cell, index) => h('td', { class: classes[index + 1] }, ...inline(cell, addressOf))),
    );
  const body = h('tbody', ...rows.map(line));
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': head.filter(Boolean).join(', ') || 'Table' },
    h('table', head.some(Boolean) ? h('thead', heading) : null, body),
  );
};

/** @param {string} text @param {Addresses} addressOf */
const tableOf = (text, addressOf) => {
  const [head = [], , ...rows] = text.split('\n').map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return table(head, rows, addressOf);
};

/**
 * Returns the id that GitHub gives to a heading, so that links work both on GitHub and on the service.
 * @param {string} text
 */
export const headingId = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

/** @param {string} code */
const codeBlock = (code) =>
  h(
    'div',
    { class: 'code' },
    h('pre', { tabindex: '0' }, h('code', code)),
    copyButton(() => code),
  );

/** @param {string} text @param {Addresses} addressOf */
const elementOf = (text, addressOf) => {
  const code = /^```[^\n]*\n(.*?)\n?```$/s.exec(text)?.[1];
  if (code !== undefined) return codeBlock(code);
  const [, marks, title] = /^(#+) (.+)$/s.exec(text) ?? [];
  if (marks && title) {
    return h(marks.length === 1 ? 'h1' : marks.length === 2 ? 'h2' : 'h3', ...inline(title, addressOf));
  }
  if (text.startsWith('|')) return tableOf(text, addressOf);
  if (text.startsWith('- ')) {
    return h(
      'ul',
      ...text
        .slice(2)
        .split(/\n- /)
        .map((item) => h('li', ...inline(item, addressOf))),
    );
  }
  return h('p', ...inline(text, addressOf));
};

/** A block ends at a blank line. Only fenced code can contain blank lines. */
const BLOCK = /```.*?\n```|(?:(?!```)[^\n]*\S[^\n]*(?:\n|$))+/gs;

/**
 * Supports only headings, paragraphs, lists, tables, links and code.
 * @param {string} markdown text from `<!-- figures NAME -->` to `<!-- /figures -->` becomes a block of figures
 * @param {Addresses} [addressOf] @returns {Block[]}
 */
export const blocksOf = (markdown, addressOf = webAddress) =>
  (markdown.replace(/(<!-- figures \w+ -->).*?<!-- \/figures -->/gs, '$1').match(BLOCK) ?? [])
    .map((text) => text.trim())
    .map((text) => {
      const name = /^<!-- figures (\w+) -->$/.exec(text)?.[1];
      return name ? { kind: 'figures', name } : { kind: 'element', element: elementOf(text, addressOf) };
    });

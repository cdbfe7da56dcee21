/** Descriptions of the document as elements: paragraphs, emphasis and code, which is all that ours use of Markdown. */
import { h } from './dom.js';

/**
 * @param {string} text one paragraph
 * @returns {import('./dom.js').Child[]}
 */
export const inline = (text) =>
  text
    .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
    .map((part) =>
      part.startsWith('`') && part.length > 1
        ? h('code', {}, part.slice(1, -1))
        : part.startsWith('**')
          ? h('strong', {}, ...inline(part.slice(2, -2)))
          : part.replace(/\s+/g, ' '),
    );

/** @param {string | undefined} text */
export const prose = (text) =>
  (text ?? '')
    .split(/\n\s*\n/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) => h('p', {}, ...inline(paragraph)));

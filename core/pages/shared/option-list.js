import { find, h } from './dom.js';

/** @import { Children } from './dom.js' */

/**
 * @template Option
 * @param {HTMLInputElement} field
 * @param {{ contentOf: (option: Option) => readonly Children[], onpick: (option: Option) => void, advice?: string }}
 *   options `advice`: shown if there are no results
 */
export const optionList = (field, { contentOf, onpick, advice = '' }) => {
  const list = find('#found');
  /** @type {readonly Option[]} */
  let shown = [];
  let marked = 0;
  const mark = (/** @type {number} */ index) => {
    marked = index;
    for (const [at, option] of [...list.children].entries()) {
      option.setAttribute('aria-selected', String(at === marked));
      if (at === marked) option.scrollIntoView({ block: 'nearest' });
    }
    field.setAttribute('aria-activedescendant', `found-${marked}`);
  };
  const itemOf = (/** @type {Option} */ option, /** @type {number} */ index) =>
    h(
      'div',
      {
        id: `found-${index}`,
        class: 'found',
        role: 'option',
        // Without `preventDefault`, the search box would lose the focus and the list would close before the click.
        onpointerdown: (/** @type {Event} */ event) => event.preventDefault(),
        onclick: () => onpick(option),
      },
      ...contentOf(option),
    );
  const nothing = (/** @type {string} */ query) =>
    h('div', { class: 'found', role: 'option', 'aria-disabled': 'true' }, `No results for “${query}”. ${advice}`);
  return {
    isOpen: () => !list.hidden,
    marked: () => shown[marked],
    close: () => {
      shown = [];
      list.hidden = true;
      field.setAttribute('aria-expanded', 'false');
      field.removeAttribute('aria-activedescendant');
    },
    /** @param {readonly Option[]} options @param {string} query */
    open: (options, query) => {
      shown = options;
      list.replaceChildren(...(shown.length > 0 ? shown.map(itemOf) : [nothing(query.trim())]));
      list.hidden = false;
      field.setAttribute('aria-expanded', 'true');
      if (shown.length > 0) mark(0);
      else field.removeAttribute('aria-activedescendant');
    },
    /** @param {number} step */
    move: (step) => {
      if (shown.length > 0) mark((marked + step + shown.length) % shown.length);
    },
  };
};

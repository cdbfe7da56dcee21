/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Child | readonly Child[]} Children */

/** @param {unknown} value @returns {value is Children} */
const isChildren = (value) =>
  typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Node;

/**
 * Creates an element. Strings become text nodes, so they are never parsed as HTML.
 * @template {keyof HTMLElementTagNameMap} Tag @param {Tag} tag
 * @param {Children | Readonly<Record<string, unknown>>} [first] attributes and event listeners such as `onclick`, or a
 *   child
 * @param {...Children} others @returns {HTMLElementTagNameMap[Tag]}
 */
export const h = (tag, first, ...others) => {
  const element = document.createElement(tag);
  const [properties, children] = isChildren(first) ? [{}, [first, ...others]] : [first, others];
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value !== undefined && value !== null && value !== false) {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) {
      element.append(child instanceof Node ? child : String(child));
    }
  }
  return element;
};

/** @template {Element} [Kind=HTMLElement] @param {string} selector @returns {Kind} @throws {Error} */
export const find = (selector) => {
  const element = document.querySelector(selector);
  if (!element) throw new Error(`The page has no ${selector}.`);
  return /** @type {Kind} */ (/** @type {unknown} */ (element));
};

export const ownerName = () => find('.brand').textContent ?? '';

/** @param {() => void} replace */
export const keepingFocus = (replace) => {
  const focused = document.activeElement?.id;
  replace();
  if (focused) document.getElementById(focused)?.focus();
};

/** @param {HTMLInputElement} input */
export const focusOnSlash = (input) =>
  addEventListener('keydown', (event) => {
    const { target } = event;
    const typing = target instanceof HTMLElement && target.matches('input:not([type="radio"]), select, textarea');
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || typing) return;
    event.preventDefault();
    input.focus();
    input.select();
  });

/** @param {() => string} text @param {string} [label] */
export const copyButton = (text, label = 'Copy') => {
  if (!navigator.clipboard) return null;
  const button = h('button', { type: 'button', class: 'quiet' }, label);
  button.addEventListener('click', async () => {
    const done = await navigator.clipboard.writeText(text()).then(
      () => 'Copied',
      () => 'Not allowed',
    );
    button.textContent = done;
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  });
  return button;
};

const NAMESPACE = 'http://www.w3.org/2000/svg';
export const FONT_SIZE = 12;
export const FONT_FAMILY = 'system-ui, sans-serif';
export const LINE_HEIGHT = 15;

/**
 * @template {keyof SVGElementTagNameMap} Tag @param {Tag} tag
 * @param {Record<string, string | number | undefined>} attributes @param {...(Node | string)} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export const svg = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
};

/** Custom properties let drawings follow the light or dark theme of the page. @param {string} name without `--` */
export const paint = (name) => `var(--${name})`;

/** @type {CanvasRenderingContext2D | null | undefined} */
let ruler;

/** @param {string} text @param {number} [size] @param {number} [weight] @returns {number} */
export const textWidth = (text, size = FONT_SIZE, weight = 400) => {
  ruler ??= document.createElement('canvas').getContext('2d');
  if (!ruler) return text.length * size * 0.6;
  ruler.font = `${weight} ${size}px ${FONT_FAMILY}`;
  return ruler.measureText(text).width;
};

/** @param {string} text @param {number} width @param {number} [size] @param {number} [weight] @returns {string[]} */
export const wrap = (text, width, size = FONT_SIZE, weight = 400) => {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`.trim();
    if (lines.length > 0 && textWidth(longer, size, weight) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
};

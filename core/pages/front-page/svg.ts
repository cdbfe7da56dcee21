import type { Drawing, Label, Shape } from '../../contracts/plugin.js';
import { html, type Markup } from './markup.js';

const colour = (name: string | undefined) => (name === undefined ? 'none' : `var(--${name})`);

const pathOf = ({ path, title, href }: Shape, publicPath: string): Markup => {
  const drawn = html`<path d="${path}">${title !== undefined && html`<title>${title}</title>`}</path>`;
  // The Tab key and screen readers skip the links in a map, because a map can have hundreds of links.
  return href === undefined ? drawn : html`<a href="${publicPath}${href}" tabindex="-1">${drawn}</a>`;
};

const styleOf = ({ fill, stroke, width }: Shape): string => `${fill} ${stroke} ${width}`;

/** Consecutive shapes with the same style share one `g` element. A map repeats a few styles hundreds of times. */
const groupsOf = (shapes: readonly Shape[]): Shape[][] => {
  const groups: Shape[][] = [];
  for (const shape of shapes) {
    const last = groups.at(-1);
    if (last && styleOf(last[0]!) === styleOf(shape)) last.push(shape);
    else groups.push([shape]);
  }
  return groups;
};

const labelOf = ({ text, x, y, anchor = 'start' }: Label): Markup =>
  html`<text x="${x}" y="${y}" text-anchor="${anchor}">${text}</text>`;

export const svgOf = ({ width, height, shapes, labels = [], textSize }: Drawing, publicPath: string): Markup =>
  html`<svg viewBox="0 0 ${width} ${height}" aria-hidden="true">${groupsOf(shapes).map((group) => {
    const { fill, stroke, width: line } = group[0]!;
    const edge = stroke !== undefined && html` stroke="${colour(stroke)}" stroke-width="${line ?? 1}"`;
    return html`<g fill="${colour(fill)}"${edge}>${group.map((shape) => pathOf(shape, publicPath))}</g>`;
  })}<g fill="var(--muted)" font-size="${textSize ?? 12}">${labels.map(labelOf)}</g></svg>`;

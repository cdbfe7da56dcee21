/** A map of the metros: outlines from `map.json`, a colour for each, read by pointer, touch and arrow keys. */

import { paint, svg } from '../../../pages/data-views/drawing.js';
import { h } from '../../../pages/shared/dom.js';

/**
 * @typedef {{ size: [number, number], land: string, states: string, areas: Record<string, [outline: string, x: number, y: number]> }}
 *   Outlines
 */

/** @type {Promise<Outlines> | undefined} */
let asked;

/** @returns {Promise<Outlines>} */
export const outlines = () => {
  asked ??= fetch(new URL('map.json', import.meta.url)).then((response) => response.json());
  return asked;
};

/** Radius of a metro without an outline. */
const POINT = 34;

/**
 * @param {object} options
 * @param {Outlines} options.outlines
 * @param {string} options.label what the map shows
 * @param {readonly string[]} options.codes of the markets, by CBSA code
 * @param {(cbsa: string) => readonly import('../../../pages/shared/dom.js').Child[]} options.describe what stands in the box beside a market
 * @param {(cbsa: string) => void} options.onpick
 */
export const metroMap = ({ outlines, label, codes, describe, onpick }) => {
  const { size, land, states, areas } = outlines;
  const box = h('div', { class: 'values', 'aria-hidden': 'true' });
  box.hidden = true;
  const readout = h('p', { class: 'readout hidden-text', 'aria-live': 'polite' });
  /** @type {Map<string, SVGElement>} */
  const shapes = new Map();
  for (const cbsa of codes) {
    const area = areas[cbsa];
    if (!area) continue;
    const [outline, x, y] = area;
    const shape = outline ? svg('path', { d: outline }) : svg('circle', { cx: x, cy: y, r: POINT });
    shape.dataset['cbsa'] = cbsa;
    shape.setAttribute('class', 'metro');
    shapes.set(cbsa, shape);
  }
  const ring = svg('g', { class: 'ring' });
  const picture = svg(
    'svg',
    { viewBox: `0 0 ${size[0]} ${size[1]}`, 'aria-hidden': 'true', class: 'map' },
    svg('path', { d: land, class: 'land' }),
    ...shapes.values(),
    // Borders cover the fills, and let the pointer through.
    svg('path', { d: states, class: 'borders' }),
    ring,
  );
  const host = h(
    'div',
    {
      class: 'mapped',
      tabindex: '0',
      role: 'group',
      'aria-label': `${label} Arrow keys go from metro to metro, Enter opens one.`,
    },
    picture,
    box,
  );
  /** @type {string | undefined} */
  let at;

  const clear = () => {
    box.hidden = true;
    ring.replaceChildren();
  };
  const show = (/** @type {string} */ cbsa) => {
    const area = areas[cbsa];
    const shape = shapes.get(cbsa);
    if (!area || !shape) return;
    at = cbsa;
    const copy = /** @type {SVGElement} */ (shape.cloneNode());
    copy.setAttribute('class', 'picked');
    ring.replaceChildren(copy);
    box.replaceChildren(...describe(cbsa).map((child) => (child instanceof Node ? child : h('div', {}, child))));
    box.hidden = false;
    readout.textContent = [...box.children].map((child) => child.textContent).join(' · ');
    const frame = host.getBoundingClientRect();
    const point = new DOMPoint(area[1], area[2]).matrixTransform(picture.getScreenCTM() ?? undefined);
    const [x, y] = [point.x - frame.left, point.y - frame.top];
    const left = x + 16 + box.offsetWidth <= host.clientWidth ? x + 16 : x - 16 - box.offsetWidth;
    box.style.left = `${Math.min(Math.max(0, left), Math.max(0, host.clientWidth - box.offsetWidth))}px`;
    box.style.top = `${Math.max(0, Math.min(y - box.offsetHeight / 2, host.clientHeight - box.offsetHeight))}px`;
  };
  const codeAt = (/** @type {Event} */ event) =>
    event.target instanceof SVGElement ? event.target.dataset['cbsa'] : undefined;

  host.addEventListener('pointermove', (event) => {
    const cbsa = codeAt(event);
    if (cbsa === undefined) clear();
    else if (cbsa !== at || box.hidden) show(cbsa);
  });
  host.addEventListener('pointerleave', (event) => {
    if (event.pointerType === 'mouse') clear();
  });
  /** @type {string | undefined} */
  let tapped;
  host.addEventListener('pointerup', (event) => {
    const cbsa = codeAt(event);
    // A finger has no hover: the first tap says what is there, the second goes to it.
    if (event.pointerType !== 'mouse' && cbsa !== tapped) {
      tapped = cbsa;
      if (cbsa) show(cbsa);
      else clear();
    } else if (cbsa) onpick(cbsa);
  });
  host.addEventListener('blur', clear);

  /** The nearest market in a direction, where one step aside counts as two ahead. @param {number} dx @param {number} dy */
  const towards = (dx, dy) => {
    const [, x = size[0] / 2, y = size[1] / 2] = areas[at ?? ''] ?? [];
    let best;
    let least = Number.POSITIVE_INFINITY;
    for (const cbsa of shapes.keys()) {
      const [, otherX = 0, otherY = 0] = areas[cbsa] ?? [];
      const ahead = (otherX - x) * dx + (otherY - y) * dy;
      const aside = Math.abs((otherX - x) * dy) + Math.abs((otherY - y) * dx);
      const distance = ahead + 2 * aside;
      if (cbsa !== at && ahead > 0 && distance < least) [best, least] = [cbsa, distance];
    }
    return best;
  };
  /** @type {Record<string, [number, number]>} */
  const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  host.addEventListener('keydown', (event) => {
    const direction = directions[event.key];
    if (direction) {
      event.preventDefault();
      const next = at === undefined ? [...shapes.keys()][0] : towards(...direction);
      if (next) show(next);
    } else if (event.key === 'Enter' && at !== undefined) onpick(at);
    else if (event.key === 'Escape') clear();
  });

  return {
    element: h('div', {}, host, readout),
    /** @param {(cbsa: string) => { color: string, faint: boolean }} colorOf a custom property for each market */
    colour: (/** @type {(cbsa: string) => { color: string, faint: boolean }} */ colorOf) => {
      for (const [cbsa, shape] of shapes) {
        const { color, faint } = colorOf(cbsa);
        shape.setAttribute('fill', paint(color));
        shape.classList.toggle('faint', faint);
      }
    },
    drawn: shapes.size,
  };
};

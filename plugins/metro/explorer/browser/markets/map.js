import { paint, svg } from '../../../../../core/pages/data-views/svg.js';
import { fetchFile } from '../../../../../core/pages/shared/api.js';
import { h } from '../../../../../core/pages/shared/dom.js';
import { onceEach } from '../../../../../core/pages/shared/once.js';
import { fillsOf, NONE, scalePatterns, UNSELECTED } from './scales.js';
import { zoomable } from './zoom.js';

/**
 * @typedef {Record<string, [outline: string, x: number, y: number]>} Areas outlines and centres by CBSA code
 * @typedef {{ size: [number, number], land: string, states: string, areas: Areas }} Outlines
 */

const once = onceEach();

/** @returns {Promise<Outlines>} */
export const outlines = () =>
  once('map', async () => (await fetchFile(new URL('../map.json', import.meta.url))).json());

/** Radius of the point for a metro without an outline, in map units. */
const POINT = 34;
const MARGIN = 16;
const FRAME = 250;
/** Distance between the lines or dots of a pattern, in map units. */
const PATTERN = 36;

/** @param {Areas} areas @param {readonly string[]} codes @returns {Map<string, SVGElement>} */
const shapesOf = (areas, codes) => {
  const shapes = new Map();
  for (const cbsa of codes) {
    const area = areas[cbsa];
    if (!area) continue;
    const [outline, x, y] = area;
    const border = borderOf('page', 0.4);
    const shape = outline
      ? svg('path', { d: outline, ...border })
      : svg('circle', { cx: x, cy: y, r: POINT, ...border });
    shape.dataset['cbsa'] = cbsa;
    shape.setAttribute('class', 'metro');
    shapes.set(cbsa, shape);
  }
  return shapes;
};

/**
 * Returns the area that an arrow key selects next: the nearest area in the direction of the key. Distance perpendicular
 * to this direction counts twice. Undefined if there is no area in this direction.
 * @param {Areas} areas @param {Iterable<string>} codes
 * @param {{ from: string, centre: readonly [number, number], direction: readonly [number, number] }} step `centre`: the
 *   centre of the area `from`
 */
const nextInDirection = (areas, codes, { from, centre: [x, y], direction: [dx, dy] }) => {
  let best;
  let least = Number.POSITIVE_INFINITY;
  for (const cbsa of codes) {
    const [, otherX = 0, otherY = 0] = areas[cbsa] ?? [];
    const ahead = (otherX - x) * dx + (otherY - y) * dy;
    const aside = Math.abs((otherX - x) * dy) + Math.abs((otherY - y) * dx);
    const distance = ahead + 2 * aside;
    if (cbsa !== from && ahead > 0 && distance < least) [best, least] = [cbsa, distance];
  }
  return best;
};

/** @type {Record<string, readonly [number, number]>} */
const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @param {HTMLElement} box @param {HTMLElement} host @param {DOMPoint} point */
const placeBox = (box, host, point) => {
  const frame = host.getBoundingClientRect();
  const [x, y] = [point.x - frame.left, point.y - frame.top];
  const { clientWidth, clientHeight } = host;
  const left = x + MARGIN + box.offsetWidth <= clientWidth ? x + MARGIN : x - MARGIN - box.offsetWidth;
  box.style.left = `${Math.min(Math.max(0, left), Math.max(0, clientWidth - box.offsetWidth))}px`;
  box.style.top = `${Math.max(0, Math.min(y - box.offsetHeight / 2, clientHeight - box.offsetHeight))}px`;
};

/**
 * @param {HTMLElement} host
 * @param {{ show: (cbsa: string) => void, clear: () => void, isClear: () => boolean, current: () => string | undefined,
 *   isDragged: () => boolean, onpick: (cbsa: string) => void }} map
 */
const listenToPointer = (host, { show, clear, isClear, current, isDragged, onpick }) => {
  const codeAt = (/** @type {Event} */ { target }) =>
    target instanceof SVGElement ? target.dataset['cbsa'] : undefined;
  host.addEventListener('pointermove', (event) => {
    const cbsa = codeAt(event);
    if (cbsa === undefined || event.buttons > 0) clear();
    else if (cbsa !== current() || isClear()) show(cbsa);
  });
  host.addEventListener('pointerleave', (event) => {
    if (event.pointerType === 'mouse') clear();
  });
  /** @type {string | undefined} */
  let tapped;
  host.addEventListener('pointerup', (event) => {
    const cbsa = codeAt(event);
    if (isDragged()) return;
    // Touch screens have no hover, so the first tap shows the values and the second tap opens the market.
    if (event.pointerType !== 'mouse' && cbsa !== tapped) {
      tapped = cbsa;
      if (cbsa) show(cbsa);
      else clear();
    } else if (cbsa) onpick(cbsa);
  });
  host.addEventListener('blur', clear);
};

/**
 * @param {HTMLElement} host
 * @param {{ move: (direction: readonly [number, number]) => void, clear: () => void, current: () => string | undefined,
 *   onpick: (cbsa: string) => void }} map
 */
const listenToKeys = (host, { move, clear, current, onpick }) =>
  host.addEventListener('keydown', (event) => {
    const direction = event.shiftKey ? undefined : DIRECTIONS[event.key];
    const cbsa = current();
    if (direction) {
      event.preventDefault();
      move(direction);
    } else if (event.key === 'Enter' && cbsa !== undefined) onpick(cbsa);
    else if (event.key === 'Escape') clear();
  });

/** @typedef {(cbsa: string) => string | undefined} ColorOf returns undefined for markets that are not selected */

/** @param {ReadonlyMap<string, SVGElement>} shapes @param {ColorOf} colorOf @param {(color: string) => string} fill */
const colourShapes = (shapes, colorOf, fill) => {
  for (const [cbsa, shape] of shapes) {
    const color = colorOf(cbsa) ?? UNSELECTED.color;
    shape.setAttribute('fill', fill(color));
    shape.setAttribute('stroke', paint(color === NONE ? 'control' : 'page'));
  }
};

/** @param {string} stroke @param {number} width */
const borderOf = (stroke, width) => ({
  ...{ stroke: paint(stroke), 'stroke-width': width, 'vector-effect': 'non-scaling-stroke' },
});

/**
 * @param {Outlines} outlines @param {ReadonlySet<string>} codes
 * @param {{ shapes: Iterable<SVGElement>, definitions: SVGElement, fill: (color: string) => string }} drawn
 */
const drawingOf = ({ size, land, states, areas }, codes, { shapes, definitions, fill }) => {
  const others = Object.keys(areas).filter((cbsa) => !codes.has(cbsa));
  return svg(
    'svg',
    { viewBox: `0 0 ${size[0]} ${size[1]}`, 'aria-hidden': 'true', class: 'map' },
    definitions,
    svg('path', { d: land, fill: paint('raised'), ...borderOf('control', 0.5) }),
    svg('path', {
      d: others.map((cbsa) => areas[cbsa]?.[0] ?? '').join(''),
      fill: fill(NONE),
      ...borderOf('control', 0.5),
    }),
    ...shapes,
    svg('path', { d: states, fill: 'none', class: 'borders', ...borderOf('muted', 0.5) }),
  );
};

/**
 * @param {object} options @param {Outlines} options.outlines @param {string} options.label
 * @param {readonly string[]} options.codes
 * @param {(cbsa: string) => readonly import('../../../../../core/pages/shared/dom.js').Child[]} options.describe
 * @param {(cbsa: string) => void} options.onpick
 */
export const metroMap = ({ outlines, label, codes, describe, onpick }) => {
  const { size, areas } = outlines;
  const box = h('div', { class: 'values', 'aria-hidden': 'true' });
  box.hidden = true;
  const readout = h('p', { class: 'readout hidden-text', 'aria-live': 'polite' });
  const shapes = shapesOf(areas, codes);
  const ring = svg('g', { class: 'ring' });
  const { fill, definitions } = fillsOf(PATTERN);
  const picture = drawingOf(outlines, new Set(codes), { shapes: shapes.values(), definitions, fill });
  picture.append(ring);
  const keys = 'Use the arrow keys to move between metros, Enter to open one, and plus and minus to zoom.';
  const group = { class: 'mapped', tabindex: '0', role: 'group', 'aria-label': `${label} ${keys}` };
  const host = h('div', group, picture, box);
  /** @type {string | undefined} */
  let current;
  const clear = () => {
    box.hidden = true;
    ring.replaceChildren();
  };
  const show = (/** @type {string} */ cbsa) => {
    const [area, shape] = [areas[cbsa], shapes.get(cbsa)];
    if (!area || !shape) return;
    current = cbsa;
    const copy = /** @type {SVGElement} */ (shape.cloneNode());
    copy.setAttribute('class', 'picked');
    ring.replaceChildren(copy);
    box.replaceChildren(...describe(cbsa).map((child) => (child instanceof Node ? child : h('div', child))));
    box.hidden = false;
    readout.textContent = [...box.children].map((child) => child.textContent).join(' · ');
    placeBox(box, host, new DOMPoint(area[1], area[2]).matrixTransform(picture.getScreenCTM() ?? undefined));
  };
  const { buttons, isDragged, reveal, enclose } = zoomable(host, picture, size, (scale) => {
    clear();
    scalePatterns(definitions, 1 / scale);
  });
  const isClear = () => box.hidden !== false;
  listenToPointer(host, { show, clear, isClear, current: () => current, isDragged, onpick });
  /** @param {readonly [number, number]} direction */
  const move = (direction) => {
    const [, x = 0, y = 0] = areas[current ?? ''] ?? [];
    const [first] = shapes.keys();
    const next =
      current === undefined
        ? first
        : nextInDirection(areas, shapes.keys(), { from: current, centre: [x, y], direction });
    if (!next) return;
    const [, left = 0, top = 0] = areas[next] ?? [];
    reveal({ x: left, y: top });
    show(next);
  };
  listenToKeys(host, { move, clear, current: () => current, onpick });
  return {
    element: h('div', { class: 'zooming' }, host, buttons, readout),
    copy: () => {
      const copies = [...shapes.values()].map((shape) => /** @type {SVGElement} */ (shape.cloneNode()));
      const whole = /** @type {SVGElement} */ (definitions.cloneNode(true));
      scalePatterns(whole, 1);
      return drawingOf(outlines, new Set(codes), { shapes: copies, definitions: whole, fill });
    },
    colour: (/** @type {ColorOf} */ colorOf) => colourShapes(shapes, colorOf, fill),
    /** @param {readonly string[]} some */
    frame: (some) =>
      enclose(
        some.flatMap((cbsa) => (areas[cbsa] ? [{ x: areas[cbsa][1], y: areas[cbsa][2] }] : [])),
        FRAME,
      ),
  };
};

import { h } from '../../../../../core/pages/shared/dom.js';

const MOST = 16;
const STEP = 1.6;
const PAN = 0.2;
/** A pointer movement of less than 5 pixels is a click, not a drag. */
const DRAG = 5;

/** @typedef {{ x: number, y: number }} Point */

/** @param {number} value @param {number} least @param {number} most */
const between = (value, least, most) => Math.min(Math.max(value, least), most);

/** @param {readonly Point[]} points */
const middleOf = (points) => ({
  x: points.reduce((sum, { x }) => sum + x, 0) / points.length,
  y: points.reduce((sum, { y }) => sum + y, 0) / points.length,
});

/** @param {readonly Point[]} points */
const spreadOf = ([a, b]) => (a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0);

/** @param {SVGSVGElement} picture @param {readonly [number, number]} size @param {() => void} onchange */
const viewOf = (picture, [width, height], onchange) => {
  let [x, y, scale] = [0, 0, 1];
  /** @param {Point} corner @param {number} wanted */
  const set = (corner, wanted) => {
    scale = between(wanted, 1, MOST);
    x = between(corner.x, 0, width - width / scale);
    y = between(corner.y, 0, height - height / scale);
    picture.setAttribute('viewBox', `${x} ${y} ${width / scale} ${height / scale}`);
    onchange();
  };
  /** @param {Point} point @returns {Point} */
  const inside = (point) => new DOMPoint(point.x, point.y).matrixTransform(picture.getScreenCTM()?.inverse());
  return {
    scale: () => scale,
    /** @param {number} factor @param {Point} [point] */
    zoom: (factor, point = { x: x + width / scale / 2, y: y + height / scale / 2 }) => {
      const next = between(scale * factor, 1, MOST);
      const kept = scale / next;
      set({ x: point.x - (point.x - x) * kept, y: point.y - (point.y - y) * kept }, next);
    },
    /** @param {Point} from @param {Point} to */
    drag: (from, to) => {
      const [a, b] = [inside(from), inside(to)];
      set({ x: x + a.x - b.x, y: y + a.y - b.y }, scale);
    },
    /** @param {number} right @param {number} down */
    pan: (right, down) => set({ x: x + (right * width) / scale, y: y + (down * height) / scale }, scale),
    /** @param {Point} point */
    reveal: (point) => {
      const [wide, tall] = [width / scale, height / scale];
      if (point.x < x || point.x > x + wide || point.y < y || point.y > y + tall)
        set({ x: point.x - wide / 2, y: point.y - tall / 2 }, scale);
    },
    /** @param {readonly Point[]} points @param {number} margin */
    enclose: (points, margin) => {
      if (points.length === 0) return set({ x: 0, y: 0 }, 1);
      const [xs, ys] = [points.map((point) => point.x), points.map((point) => point.y)];
      const [left, top] = [Math.min(...xs) - margin, Math.min(...ys) - margin];
      const [wide, tall] = [Math.max(...xs) + margin - left, Math.max(...ys) + margin - top];
      const wanted = between(Math.min(width / wide, height / tall), 1, MOST);
      set({ x: left + wide / 2 - width / wanted / 2, y: top + tall / 2 - height / wanted / 2 }, wanted);
    },
    whole: () => set({ x: 0, y: 0 }, 1),
    inside,
  };
};

/** @typedef {ReturnType<typeof viewOf>} View */

/**
 * @param {HTMLElement} host
 * @param {View} view
 * @returns {() => boolean} whether the user has dragged the drawing since the last `pointerdown` event
 */
const listenToPointers = (host, view) => {
  /** @type {Map<number, Point>} */
  const pointers = new Map();
  let moved = 0;
  host.addEventListener('pointerdown', ({ pointerId, clientX, clientY }) => {
    if (pointers.size === 0) moved = 0;
    pointers.set(pointerId, { x: clientX, y: clientY });
  });
  host.addEventListener('pointermove', ({ pointerId, clientX, clientY }) => {
    const before = pointers.get(pointerId);
    if (!before) return;
    const old = [...pointers.values()];
    pointers.set(pointerId, { x: clientX, y: clientY });
    const now = [...pointers.values()];
    moved += Math.hypot(clientX - before.x, clientY - before.y);
    if (now.length > 1) view.zoom(spreadOf(now) / spreadOf(old) || 1, view.inside(middleOf(now)));
    if (view.scale() > 1 && moved > DRAG) view.drag(middleOf(old), middleOf(now));
  });
  const end = (/** @type {PointerEvent} */ { pointerId }) => pointers.delete(pointerId);
  for (const type of /** @type {const} */ (['pointerup', 'pointercancel', 'pointerleave'])) {
    host.addEventListener(type, end);
  }
  return () => moved > DRAG && view.scale() > 1;
};

/**
 * The wheel must scroll the page, so it zooms only if the page cannot scroll or if Ctrl is pressed. Browsers report a
 * trackpad pinch as a wheel event with Ctrl.
 */
const listenToWheel = (/** @type {HTMLElement} */ host, /** @type {View} */ view) =>
  host.addEventListener(
    'wheel',
    (event) => {
      const scrolls = document.documentElement.scrollHeight > innerHeight;
      if (scrolls && !event.ctrlKey) return;
      event.preventDefault();
      const factor = Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002));
      view.zoom(factor, view.inside({ x: event.clientX, y: event.clientY }));
    },
    { passive: false },
  );

/** @type {Readonly<Record<string, readonly [number, number]>>} */
const PANS = { ArrowLeft: [-PAN, 0], ArrowRight: [PAN, 0], ArrowUp: [0, -PAN], ArrowDown: [0, PAN] };

/**
 * @param {HTMLElement} host @param {SVGSVGElement} picture @param {readonly [number, number]} size
 * @param {(scale: number) => void} onchange
 */
export const zoomable = (host, picture, size, onchange) => {
  const button = (/** @type {string} */ sign, /** @type {string} */ label, /** @type {() => void} */ onclick) =>
    h('button', { type: 'button', class: 'quiet', 'aria-label': label, title: label, onclick }, sign);
  const whole = button('⤢', 'Show the whole map', () => view.whole());
  const view = viewOf(picture, size, () => {
    host.classList.toggle('zoomed', view.scale() > 1);
    whole.disabled = view.scale() === 1;
    onchange(view.scale());
  });
  whole.disabled = true;
  listenToWheel(host, view);
  const isDragged = listenToPointers(host, view);
  host.addEventListener('keydown', (event) => {
    const pan = event.shiftKey ? PANS[event.key] : undefined;
    if (pan) view.pan(...pan);
    else if (event.key === '+' || event.key === '=') view.zoom(STEP);
    else if (event.key === '-') view.zoom(1 / STEP);
    else if (event.key === '0') view.whole();
    else return;
    event.preventDefault();
  });
  return {
    buttons: h(
      'div',
      { class: 'zoom', role: 'group', 'aria-label': 'Zoom' },
      button('+', 'Zoom in', () => view.zoom(STEP)),
      button('−', 'Zoom out', () => view.zoom(1 / STEP)),
      whole,
    ),
    isDragged,
    reveal: view.reveal,
    enclose: view.enclose,
  };
};

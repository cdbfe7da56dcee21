import { h } from '../shared/dom.js';
import { draw, legendOf } from './drawing.js';
import { paint, svg, textWidth, wrap } from './svg.js';

/** @import { Picture } from './figure.js' */

const [WIDTH, HEIGHT, MARGIN] = [1200, 675, 36];
const SCALE = 2;

/**
 * Saved images have no style sheet, so each custom property is replaced with its colour.
 * @param {SVGElement} picture
 */
const resolveColors = (picture) => {
  const probe = h('span');
  probe.style.colorScheme = 'light';
  document.body.append(probe);
  for (const element of [picture, ...picture.querySelectorAll('*')]) {
    for (const name of ['fill', 'stroke']) {
      const value = element.getAttribute(name);
      if (!value?.startsWith('var(')) continue;
      probe.style.color = value;
      element.setAttribute(name, getComputedStyle(probe).color);
    }
  }
  probe.remove();
};

/** @param {import('./drawing.js').ChartOptions} options @returns {import('./figure.js').Content} */
const chartContent = (options) => ({ legend: legendOf(options), draw: (size) => draw(options, size).svg });

/** @param {Picture} picture */
const pictureOf = ({ title, options, drawn, credits }) => {
  const content = drawn ? drawn() : options && chartContent(options());
  if (!content) throw new Error('The picture has neither a chart nor a drawing.');
  const inner = WIDTH - 2 * MARGIN;
  const root = svg('svg', {
    xmlns: 'http://www.w3.org/2000/svg',
    width: WIDTH,
    height: HEIGHT,
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    'font-family': 'system-ui, sans-serif',
  });
  root.append(svg('rect', { width: WIDTH, height: HEIGHT, fill: paint('page') }));
  let y = MARGIN;
  for (const line of wrap(title, inner, 25, 650)) {
    root.append(svg('text', { x: MARGIN, y: y + 18, 'font-size': 25, 'font-weight': 650, fill: paint('text') }, line));
    y += 32;
  }
  let x = MARGIN;
  y += 8;
  for (const { label, swatch } of content.legend) {
    const width = 32 + textWidth(label, 15) + 24;
    if (x + width > WIDTH - MARGIN && x > MARGIN) {
      x = MARGIN;
      y += 22;
    }
    swatch.setAttribute('x', String(x));
    swatch.setAttribute('y', String(y));
    root.append(swatch, svg('text', { x: x + 32, y: y + 11, 'font-size': 15, fill: paint('text') }, label));
    x += width;
  }
  y += 30;
  const lines = credits().flatMap((credit) => wrap(credit, inner, 13));
  const bottom = HEIGHT - MARGIN - lines.length * 18;
  const drawing = content.draw({ width: inner, height: bottom - y });
  drawing.setAttribute('x', String(MARGIN));
  drawing.setAttribute('y', String(y));
  drawing.setAttribute('width', String(inner));
  drawing.setAttribute('height', String(bottom - y));
  root.append(drawing);
  lines.forEach((line, index) => {
    root.append(svg('text', { x: MARGIN, y: bottom + 24 + index * 18, 'font-size': 13, fill: paint('muted') }, line));
  });
  resolveColors(root);
  return new XMLSerializer().serializeToString(root);
};

/** @param {string} markup @returns {Promise<Blob>} */
const pngOf = async (markup) => {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(markup)}`;
  await image.decode();
  const canvas = h('canvas', { width: WIDTH * SCALE, height: HEIGHT * SCALE });
  canvas.getContext('2d')?.drawImage(image, 0, 0, WIDTH * SCALE, HEIGHT * SCALE);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('The picture could not be drawn.'))));
  });
};

/** @param {Picture} picture @param {'png' | 'svg'} format @returns {Promise<Blob>} */
export const drawPicture = async (picture, format) => {
  const markup = pictureOf(picture);
  return format === 'svg' ? new Blob([markup], { type: 'image/svg+xml' }) : pngOf(markup);
};

import { crc32, deflateSync } from 'node:zlib';
import type { Drawing } from '../../contracts/plugin.js';

/** Social networks recommend preview images of 1200 × 630 pixels. */
const WIDTH = 1200;
const HEIGHT = 630;
const MARGIN = 24;

type Point = readonly [x: number, y: number];
type Color = readonly [red: number, green: number, blue: number];

const linesOf = (path: string): Point[][] => {
  const lines: Point[][] = [];
  let [x, y] = [0, 0];
  for (const [, command = '', list = ''] of path.matchAll(/([MmLlHhVvZz])([^A-Za-z]*)/g)) {
    const numbers = (list.match(/-?(?:\d+\.?\d*|\.\d+)/g) ?? []).map(Number);
    const isRelative = command === command.toLowerCase();
    const kind = command.toUpperCase();
    if (kind === 'Z') {
      const [first] = lines.at(-1) ?? [];
      if (first) {
        lines.at(-1)!.push(first);
        [x, y] = first;
      }
    }
    const step = kind === 'H' || kind === 'V' ? 1 : 2;
    for (let i = 0; i + step <= numbers.length; i += step) {
      const [a = 0, b = 0] = [numbers[i], numbers[i + 1]];
      const [dx, dy] = kind === 'V' ? [0, a] : [a, kind === 'H' ? 0 : b];
      if (isRelative) [x, y] = [x + dx, y + dy];
      else [x, y] = [kind === 'V' ? x : dx, kind === 'H' ? y : kind === 'V' ? a : dy];
      if (kind === 'M' && i === 0) lines.push([[x, y]]);
      else lines.at(-1)?.push([x, y]);
    }
  }
  return lines;
};

/** All outlines have the same orientation, so that overlapping outlines do not cancel out. */
const quadOf = ([x0, y0]: Point, [x1, y1]: Point, width: number): Point[] => {
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [dx, dy] = [((y1 - y0) / length) * (width / 2), ((x0 - x1) / length) * (width / 2)];
  return [
    [x0 + dx, y0 + dy],
    [x1 + dx, y1 + dy],
    [x1 - dx, y1 - dy],
    [x0 - dx, y0 - dy],
  ];
};

class Canvas {
  readonly #pixels = new Uint8Array(WIDTH * HEIGHT * 3);
  /** The coverage of each pixel minus the coverage of the pixel to its left. */
  readonly #cover = new Float32Array(WIDTH * HEIGHT + 2);

  constructor(background: Color) {
    for (let i = 0; i < this.#pixels.length; i++) this.#pixels[i] = background[i % 3]!;
  }

  fill(polygons: readonly (readonly Point[])[], color: Color): void {
    let [top, bottom] = [HEIGHT, 0];
    for (const polygon of polygons) {
      for (const [i, from] of polygon.entries()) {
        const to = polygon[(i + 1) % polygon.length]!;
        this.#edge(from, to);
        top = Math.min(top, Math.max(0, Math.floor(from[1])));
        bottom = Math.max(bottom, Math.min(HEIGHT, Math.ceil(from[1])));
      }
    }
    for (let y = top; y < bottom; y++) this.#paintRow(y, color);
  }

  #paintRow(y: number, color: Color): void {
    let area = 0;
    for (let i = y * WIDTH; i < (y + 1) * WIDTH; i++) {
      area += this.#cover[i]!;
      this.#cover[i] = 0;
      const share = Math.min(1, Math.abs(area));
      if (share < 0.004) continue;
      for (let channel = 0; channel < 3; channel++) {
        const at = i * 3 + channel;
        this.#pixels[at] = Math.round(this.#pixels[at]! * (1 - share) + color[channel]! * share);
      }
    }
  }

  /** Adds the coverage of the area to the right of an edge. An upward edge subtracts the coverage. */
  #edge([x0, y0]: Point, [x1, y1]: Point): void {
    if (y0 === y1) return;
    const sign = y0 < y1 ? 1 : -1;
    const [topX, topY, bottomX, bottomY] = y0 < y1 ? [x0, y0, x1, y1] : [x1, y1, x0, y0];
    const slope = (bottomX - topX) / (bottomY - topY);
    for (let y = Math.max(0, Math.floor(topY)); y < Math.min(HEIGHT, bottomY); y++) {
      const [from, to] = [Math.max(y, topY), Math.min(y + 1, bottomY)];
      const clamp = (x: number) => Math.min(WIDTH - 1, Math.max(0, x));
      const [a, b] = [clamp(topX + (from - topY) * slope), clamp(topX + (to - topY) * slope)];
      this.#span(y * WIDTH, Math.min(a, b), Math.max(a, b), sign * (to - from));
    }
  }

  #span(row: number, left: number, right: number, area: number): void {
    const [first, last] = [Math.floor(left), Math.floor(right)];
    for (let x = first; x <= last; x++) {
      const [from, to] = [Math.max(left, x), Math.min(right, x + 1)];
      const share = right === left ? area : (area * (to - from)) / (right - left);
      const inside = share * (x + 1 - (from + to) / 2);
      this.#cover[row + x]! += inside;
      if (x + 1 < WIDTH) this.#cover[row + x + 1]! += share - inside;
    }
  }

  png(): Buffer {
    const rows = Buffer.alloc((WIDTH * 3 + 1) * HEIGHT);
    for (let y = 0; y < HEIGHT; y++) {
      rows.set(this.#pixels.subarray(y * WIDTH * 3, (y + 1) * WIDTH * 3), y * (WIDTH * 3 + 1) + 1);
    }
    const header = Buffer.alloc(13);
    header.writeUInt32BE(WIDTH, 0);
    header.writeUInt32BE(HEIGHT, 4);
    header.set([8, 2], 8);
    return Buffer.concat([
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      chunk('IHDR', header),
      chunk('IDAT', deflateSync(rows)),
      chunk('IEND', Buffer.alloc(0)),
    ]);
  }
}

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
};

const colorOf = (colors: ReadonlyMap<string, string>, name: string): Color => {
  const hex = colors.get(name) ?? '#808080';
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Color;
};

export const pngOf = ({ width, height, shapes }: Drawing, colors: ReadonlyMap<string, string>): Buffer => {
  const canvas = new Canvas(colorOf(colors, 'page'));
  const scale = Math.min((WIDTH - 2 * MARGIN) / width, (HEIGHT - 2 * MARGIN) / height);
  const [left, top] = [(WIDTH - width * scale) / 2, (HEIGHT - height * scale) / 2];
  for (const { path, fill, stroke, width: line = 1 } of shapes) {
    const lines = linesOf(path).map((points) => points.map(([x, y]): Point => [left + x * scale, top + y * scale]));
    if (fill !== undefined) canvas.fill(lines, colorOf(colors, fill));
    if (stroke === undefined) continue;
    const thickness = Math.max(1, line * scale);
    const quads = lines.flatMap((points) => points.slice(1).map((point, i) => quadOf(points[i]!, point, thickness)));
    canvas.fill(quads, colorOf(colors, stroke));
  }
  return canvas.png();
};

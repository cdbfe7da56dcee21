/** Line charts over time as SVG, with one panel per quantity. */
import { escapeText, svg } from '../svg.js';

const WIDTH = 720;
const LEFT = 64;
const RIGHT = 12;
const TOP = 34;
const PANEL_HEIGHT = 120;
const PANEL_GAP = 40;

const STYLE = {
  light: '\n  .line { stroke: #0a7d5a; stroke-width: 1.5; fill: none; }',
  dark: '\n    .line { stroke: #2fbf8f; }',
};

export interface Panel {
  readonly title: string;
  /** Pairs of seconds and value. */
  readonly points: readonly (readonly [number, number])[];
}

/** A round number at or above the value. */
const roundUp = (value: number): number => {
  const unit = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return Math.ceil(value / unit) * unit;
};

const panelLines = ({ title, points }: Panel, index: number): string[] => {
  const top = TOP + index * (PANEL_HEIGHT + PANEL_GAP) + 18;
  const bottom = top + PANEL_HEIGHT;
  const most = roundUp(Math.max(...points.map(([, value]) => value)));
  const end = points.at(-1)?.[0] || 1;
  const x = (seconds: number) => (LEFT + (seconds / end) * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const y = (value: number) => (bottom - (value / most) * PANEL_HEIGHT).toFixed(1);
  return [
    `<text class="panel" x="${LEFT}" y="${top - 8}">${escapeText(title)}</text>`,
    `<path class="axis" d="M${LEFT} ${top}V${bottom}H${WIDTH - RIGHT}"/>`,
    `<text class="note" x="${LEFT - 8}" y="${top + 10}" text-anchor="end">${most}</text>`,
    `<text class="note" x="${LEFT - 8}" y="${bottom}" text-anchor="end">0</text>`,
    `<polyline class="line" points="${points.map(([at, value]) => `${x(at)},${y(value)}`).join(' ')}"/>`,
  ];
};

/** Every panel starts at zero, so that growth is visible. */
export const curves = (title: string, note: string, panels: readonly Panel[]): string => {
  const height = TOP + panels.length * (PANEL_HEIGHT + PANEL_GAP) + 30;
  const foot = `<text class="note" x="0" y="${height - 8}">${escapeText(note)}</text>`;
  return svg({ title, width: WIDTH, height, style: STYLE, lines: [...panels.flatMap(panelLines), foot] });
};

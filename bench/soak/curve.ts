/** Lines over time as SVG, without a library: a panel for each quantity. Legible on light and dark. */

const WIDTH = 720;
const LEFT = 64;
const RIGHT = 12;
const TOP = 34;
const PANEL_HEIGHT = 120;
const PANEL_GAP = 40;

const STYLE = `
  text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .title { font-size: 14px; font-weight: 600; }
  .panel { font-weight: 600; }
  .note { fill: #59636e; }
  .axis { stroke: #d1d9e0; fill: none; }
  .line { stroke: #0a7d5a; stroke-width: 1.5; fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .note { fill: #9198a1; }
    .axis { stroke: #3d444d; }
    .line { stroke: #2fbf8f; }
  }`;

export interface Panel {
  readonly title: string;
  /** Seconds, and the value then. */
  readonly points: readonly (readonly [number, number])[];
}

const escapeText = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

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

/** Every panel begins at zero, so that what grows is seen to. */
export const curves = (title: string, note: string, panels: readonly Panel[]): string => {
  const height = TOP + panels.length * (PANEL_HEIGHT + PANEL_GAP) + 30;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escapeText(title)}">
<style>${STYLE}
</style>
<text class="title" x="0" y="16">${escapeText(title)}</text>
${panels.flatMap(panelLines).join('\n')}
<text class="note" x="0" y="${height - 8}">${escapeText(note)}</text>
</svg>
`;
};

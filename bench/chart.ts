import { formatCell, type Table } from './table.js';

const NAMES_WIDTH = 150;
const PANEL_WIDTH = 240;
const FIGURE_WIDTH = 62;
const ROW_HEIGHT = 24;
const BAR_HEIGHT = 14;
const TOP = 62;

const STYLE = `<style>
  text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .title, .panel, .first { font-weight: 600; }
  .title { font-size: 14px; }
  .note, .figure { fill: #59636e; }
  .axis { stroke: #d1d9e0; fill: none; }
  .bar { fill: #aeb8c2; }
  .ours { fill: #0a7d5a; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .note, .figure { fill: #9198a1; }
    .axis { stroke: #3d444d; }
    .bar { fill: #5c6670; }
    .ours { fill: #2fbf8f; }
  }
</style>`;

const escapeText = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const textAt = (type: string, x: number, y: number, text: string, more = ''): string =>
  `<text class="${type}" x="${x}" y="${y}"${more}>${escapeText(text)}</text>`;

interface ChartOptions {
  readonly title: string;
  readonly note: string;
  readonly panels: readonly Table[];
  readonly highlight: string;
}

export const barChart = ({ title, note, panels, highlight }: ChartOptions): string => {
  const names = panels[0]?.rows.map(([name]) => String(name)) ?? [];
  const width = NAMES_WIDTH + panels.length * PANEL_WIDTH;
  const bottom = TOP + names.length * ROW_HEIGHT;
  const height = bottom + 36;
  const lines = [textAt('title', 0, 16, title), textAt('note', 0, bottom + 26, note)];
  for (const [row, name] of names.entries()) {
    const y = TOP + row * ROW_HEIGHT + BAR_HEIGHT - 2;
    lines.push(textAt(name === highlight ? 'name first' : 'name', NAMES_WIDTH - 10, y, name, ' text-anchor="end"'));
  }
  for (const [column, panel] of panels.entries()) {
    const left = NAMES_WIDTH + column * PANEL_WIDTH;
    const values = panel.rows.map(([, value]) => Number(value));
    lines.push(
      textAt('panel', left, TOP - 14, panel.title),
      `<line class="axis" x1="${left}" x2="${left}" y1="${TOP - 4}" y2="${bottom}"/>`,
    );
    for (const [row, value] of values.entries()) {
      const length = Math.max(1, Math.round((value / Math.max(...values)) * (PANEL_WIDTH - FIGURE_WIDTH)));
      const y = TOP + row * ROW_HEIGHT;
      const type = names[row] === highlight ? 'bar ours' : 'bar';
      lines.push(
        `<rect class="${type}" x="${left}" y="${y}" width="${length}" height="${BAR_HEIGHT}"/>`,
        textAt('figure', left + length + 6, y + BAR_HEIGHT - 2, formatCell(value)),
      );
    }
  }
  const frame = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${frame} role="img" aria-label="${escapeText(title)}">
${STYLE}
${lines.join('\n')}
</svg>
`;
};

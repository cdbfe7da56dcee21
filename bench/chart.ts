/** A bar chart as SVG, without a library: a panel for each table, a bar for each row. */
import { escapeText, svg } from './svg.js';
import { formatCell, type Table } from './table.js';

const NAMES_WIDTH = 150;
const PANEL_WIDTH = 240;
/** Room for the figure beside the longest bar. */
const FIGURE_WIDTH = 62;
const ROW_HEIGHT = 24;
const BAR_HEIGHT = 14;
const TOP = 62;
const NOTE_HEIGHT = 18;

const STYLE = {
  light: `
  .figure { fill: #59636e; }
  .bar { fill: #aeb8c2; }
  .ours { fill: #0a7d5a; }
  .name.first { font-weight: 600; }`,
  dark: `
    .figure { fill: #9198a1; }
    .bar { fill: #5c6670; }
    .ours { fill: #2fbf8f; }`,
};

const amount = (row: Table['rows'][number] | undefined): number => Number(row?.[1] ?? 0);

export interface ChartOptions {
  readonly title: string;
  /** Lines below the panels. */
  readonly notes: readonly string[];
  /** First column: names, the same and in the same order in each table; second: what the bars show. */
  readonly panels: readonly Table[];
  /** The name that stands out. */
  readonly highlight: string;
}

export const barChart = ({ title, notes, panels, highlight }: ChartOptions): string => {
  const names = panels[0]?.rows.map(([name]) => String(name)) ?? [];
  const width = NAMES_WIDTH + panels.length * PANEL_WIDTH;
  const bottom = TOP + names.length * ROW_HEIGHT;
  const lines = notes.map(
    (note, i) => `<text class="note" x="0" y="${bottom + 26 + i * NOTE_HEIGHT}">${escapeText(note)}</text>`,
  );
  for (const [row, name] of names.entries()) {
    const y = TOP + row * ROW_HEIGHT + BAR_HEIGHT - 2;
    const type = name === highlight ? 'name first' : 'name';
    lines.push(`<text class="${type}" x="${NAMES_WIDTH - 10}" y="${y}" text-anchor="end">${escapeText(name)}</text>`);
  }
  for (const [column, panel] of panels.entries()) {
    const left = NAMES_WIDTH + column * PANEL_WIDTH;
    const most = Math.max(...panel.rows.map(amount));
    lines.push(
      `<text class="panel" x="${left}" y="${TOP - 14}">${escapeText(panel.title)}</text>`,
      `<line class="axis" x1="${left}" x2="${left}" y1="${TOP - 4}" y2="${bottom}"/>`,
    );
    for (const [row, name] of names.entries()) {
      const value = amount(panel.rows[row]);
      const length = Math.max(1, Math.round((value / most) * (PANEL_WIDTH - FIGURE_WIDTH)));
      const y = TOP + row * ROW_HEIGHT;
      lines.push(
        `<rect class="bar${name === highlight ? ' ours' : ''}" x="${left}" y="${y}" width="${length}" height="${BAR_HEIGHT}"/>`,
        `<text class="figure" x="${left + length + 6}" y="${y + BAR_HEIGHT - 2}">${formatCell(value)}</text>`,
      );
    }
  }
  return svg({ title, width, height: bottom + 36 + (notes.length - 1) * NOTE_HEIGHT, style: STYLE, lines });
};

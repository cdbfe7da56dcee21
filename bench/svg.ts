/** What the charts share: the frame of a drawing that is legible on light and dark. */

const STYLE = `
  text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .title { font-size: 14px; font-weight: 600; }
  .panel { font-weight: 600; }
  .note { fill: #59636e; }
  .axis { stroke: #d1d9e0; fill: none; }`;

const DARK = `
    text { fill: #f0f6fc; }
    .note { fill: #9198a1; }
    .axis { stroke: #3d444d; }`;

export const escapeText = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

export interface Drawing {
  readonly title: string;
  readonly width: number;
  readonly height: number;
  /** CSS beside that of titles, notes and axes. */
  readonly style: { readonly light: string; readonly dark: string };
  /** SVG elements; the title stands above them. */
  readonly lines: readonly string[];
}

export const svg = ({ title, width, height, style, lines }: Drawing): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeText(title)}">
<style>${STYLE}${style.light}
  @media (prefers-color-scheme: dark) {${DARK}${style.dark}
  }
</style>
<text class="title" x="0" y="16">${escapeText(title)}</text>
${lines.join('\n')}
</svg>
`;

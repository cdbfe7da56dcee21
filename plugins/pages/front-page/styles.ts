/** The style of the front page: the design tokens of all pages and its own rules, without comments. */
import { readPageFiles } from '../page-files.js';

const files = readPageFiles(new URL('./browser/', import.meta.url), 'pages/front-page/browser');

const textOf = (name: string): string =>
  (files.get(name)?.bytes.toString() ?? '').replaceAll(/\/\*.*?\*\//gs, '').replaceAll(/\s*\n\s*/g, '\n');

const tokens = textOf('pages/shared/tokens.css');

export const styles = ['front-page', 'sections']
  .map((name) => textOf(`pages/front-page/browser/${name}.css`))
  .reduce((all, text) => all + text, tokens);

/** The colours of the light theme, by token. */
export const lightColors: ReadonlyMap<string, string> = new Map(
  [...tokens.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6})/g)].map(([, name, color]) => [name!, color!]),
);

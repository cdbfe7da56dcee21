import { readSharedFile } from '../page-files.js';

const textOf = (path: string): string =>
  readSharedFile(path)
    .bytes.toString()
    .replaceAll(/\s*\n\s*/g, '\n');

const tokens = textOf('shared/tokens.css');

export const styles = [
  tokens,
  ...['front-page', 'sections'].map((name) => textOf(`front-page/browser/${name}.css`)),
].join('');

export const lightColors: ReadonlyMap<string, string> = new Map(
  [...tokens.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6})/g)].map(([, name, color]) => [name!, color!]),
);

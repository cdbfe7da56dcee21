import { escapeHtml } from '../../util/escape-html.js';

export class Markup {
  constructor(readonly text: string) {}
}

type Value = Markup | string | number | false | null | undefined | readonly Value[];

const textOf = (value: Value): string => {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(textOf).join('');
  return value === false || value === null || value === undefined ? '' : escapeHtml(String(value));
};

/** Escapes every value that is not `Markup`. `false`, `null` and `undefined` become an empty string. */
export const html = (strings: TemplateStringsArray, ...values: readonly Value[]): Markup =>
  new Markup(String.raw({ raw: strings }, ...values.map(textOf)));

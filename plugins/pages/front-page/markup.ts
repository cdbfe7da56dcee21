/** Builds HTML from templates that escape every value. */
import { escapeHtml } from '../template.js';

/** Text that is already markup. */
export class Markup {
  constructor(readonly text: string) {}
}

type Value = Markup | string | number | false | null | undefined | readonly Value[];

const textOf = (value: Value): string => {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(textOf).join('');
  return value === false || value === null || value === undefined ? '' : escapeHtml(String(value));
};

/** Values are escaped, unless they are markup. `false`, `null` and `undefined` are empty. */
export const html = (strings: TemplateStringsArray, ...values: readonly Value[]): Markup =>
  new Markup(String.raw({ raw: strings }, ...values.map(textOf)));

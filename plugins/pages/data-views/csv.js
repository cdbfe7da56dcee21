/** What a page shows, as CSV. */

/** More decimals than any source has; the rest is noise of the arithmetic. */
const DECIMALS = 6;

/** Texts that a spreadsheet would run as a formula, by the same rule as the service's own CSV: `core/response/representation.ts`. */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/u;

/** @param {string | number | null | undefined} cell */
const textOf = (cell) => {
  if (typeof cell === 'number') return String(Number(cell.toFixed(DECIMALS)));
  return FORMULA.test(cell ?? '') ? `'${cell}` : (cell ?? '');
};

/** @param {string | number | null | undefined} cell */
const quoted = (cell) => {
  const text = textOf(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** @param {readonly (readonly (string | number | null | undefined)[])[]} rows the first one names the columns */
export const csvOf = (rows) => [...rows.map((row) => row.map(quoted).join(',')), ''].join('\r\n');

/**
 * The lines of a chart from the first date that it shows on: a column of dates, and one for each line.
 * @param {import('./drawing.js').ChartOptions} options @param {string} time heads the dates
 */
export const linesCsv = ({ dates, lines, from = '' }, time) =>
  csvOf([
    [time, ...lines.map(({ label }) => label)],
    ...dates.flatMap((date, index) => (date < from ? [] : [[date, ...lines.map(({ values }) => values[index])]])),
  ]);

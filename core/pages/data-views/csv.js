/** Spreadsheets execute a cell as a formula if it starts with `=`, `+`, `-`, `@`, a tab or a line break. */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/u;

/** @param {string | number | null | undefined} cell */
const textOf = (cell) => {
  if (typeof cell === 'number') return String(cell);
  return FORMULA.test(cell ?? '') ? `'${cell}` : (cell ?? '');
};

/** @param {string | number | null | undefined} cell */
const quoted = (cell) => {
  const text = textOf(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** @param {readonly (readonly (string | number | null | undefined)[])[]} rows */
export const csvOf = (rows) => [...rows.map((row) => row.map(quoted).join(',')), ''].join('\r\n');

/** @param {import('./drawing.js').ChartOptions} options @param {string} time */
export const linesCsv = ({ dates, lines, from = '' }, time) =>
  csvOf([
    [time, ...lines.map(({ label }) => label)],
    ...dates.flatMap((date, index) => (date < from ? [] : [[date, ...lines.map(({ values }) => values[index])]])),
  ]);

/** What a page shows, as CSV. */

/** More decimals than any source has; the rest is noise of the arithmetic. */
const DECIMALS = 6;

/** @param {string | number | null | undefined} cell */
const quoted = (cell) => {
  const text = String((typeof cell === 'number' ? Number(cell.toFixed(DECIMALS)) : cell) ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** @param {readonly (readonly (string | number | null | undefined)[])[]} rows the first one names the columns */
export const csvOf = (rows) => [...rows.map((row) => row.map(quoted).join(',')), ''].join('\r\n');

/** @typedef {(target: string) => Promise<any>} Get */

export const NOTHING = 'No outcome of a past forecast has been published yet.';

/** @param {Get} get @param {string} by @returns {Promise<any[]>} */
export const breakdown = async (get, by, span = '') => (await get(`/forecast-backtest/breakdown?by=${by}${span}`)).data;

/** @type {(rows: readonly any[], key: string) => number} */
export const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);

/** @type {(rows: readonly any[], key: string) => number} mean over all forecasts, not over groups */
export const mean = (rows, key) => rows.reduce((total, row) => total + row.n * row[key], 0) / sum(rows, 'n');

/** @param {readonly string[]} heads @param {readonly (readonly string[])[]} rows */
export const table = (heads, rows, nothing = NOTHING) =>
  rows.length === 0
    ? nothing
    : [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** @type {Readonly<Record<string, string>>} */
export const BENCHMARKS = {
  persistence: 'persistence',
  ar1_nation: 'AR(1) with the nation',
  shrunk_mean: 'the shrunk mean',
};

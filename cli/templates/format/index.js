/** The {{name}} plugin serves every list as an HTML table. */
import { definePlugin } from 'metro-forecast-api/plugin';

/** @param {unknown} value */
const cell = (value) => {
  const text = typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
};

/** @type {import('metro-forecast-api/plugin').Format} */
const format = {
  name: '{{name}}',
  mediaTypes: ['text/html; charset=utf-8'],
  description: 'An HTML table. The columns are the properties of the rows.',
  async *write(rows, columns) {
    yield `<table>\n<tr>${columns.map(({ name }) => `<th>${cell(name)}</th>`).join('')}</tr>\n`;
    for await (const batch of rows) {
      const lines = batch.map(
        (row) => `<tr>${columns.map(({ name }) => `<td>${cell(row[name])}</td>`).join('')}</tr>\n`,
      );
      yield lines.join('');
    }
    yield '</table>\n';
  },
};

export default definePlugin({
  name: '{{name}}',
  version: '0.1.0',
  description: 'Lists as HTML tables.',
  formats: () => [format],
});

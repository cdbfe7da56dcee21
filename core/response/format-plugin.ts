import { definePlugin, type Plugin } from '../contracts/plugin.js';
import { packageVersion } from '../util/package.js';
import { csvFormat } from './csv-format.js';
import { jsonFormat, ndjsonFormat } from './formats.js';
import { parquetFormat } from './parquet-format.js';

export const formatPlugin = (csvFormulaGuard: boolean): Plugin =>
  definePlugin({
    name: 'formats',
    version: packageVersion,
    description: 'JSON, CSV, NDJSON and Parquet.',
    formats: () => [jsonFormat, csvFormat(csvFormulaGuard), ndjsonFormat, parquetFormat],
  });

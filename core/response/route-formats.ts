/** The formats of a route: how each one is written and documented. */
import type { JsonSchema } from '../contracts/json-schema.js';
import type { Route } from '../contracts/plugin.js';
import { type FormatName, formatNames, listColumns, typedColumns } from '../registry/route-defaults.js';
import { csvFormat, type Format, jsonFormat, ndjsonFormat } from './formats.js';
import { parquetFormat, parquetTypeName } from './parquet-format.js';

interface RouteFormat {
  readonly format: Format;
  /** The schema in the OpenAPI document. Absent for JSON, for which the schema of the route is used. */
  readonly schema?: JsonSchema;
}

/** These functions are called only for routes that have the format. */
const BUILDERS: Readonly<Record<FormatName, (route: Route, csvFormulaGuard: boolean) => RouteFormat>> = {
  json: () => ({ format: jsonFormat }),
  csv(route, csvFormulaGuard) {
    const columns = listColumns(route)!;
    return {
      format: csvFormat(columns, csvFormulaGuard),
      schema: { type: 'string', description: `RFC 4180, with ${some(route)} columns ${columns.join(', ')}.` },
    };
  },
  ndjson: () => ({
    format: ndjsonFormat,
    schema: { type: 'string', description: 'One JSON object per line.' },
  }),
  parquet(route) {
    const columns = typedColumns(route);
    const names = columns.map(parquetTypeName).join(', ');
    return {
      format: parquetFormat(columns),
      // JSON Schema cannot describe binary data.
      schema: { description: `Apache Parquet, compressed with Snappy, with ${some(route)} columns ${names}.` },
    };
  },
};

const some = (route: Route): string => (route.kind === 'data' && route.columns ? 'among' : 'the');

/** Returns the formats of a route. The first one is the default. */
export const routeFormats = (route: Route, csvFormulaGuard: boolean): readonly RouteFormat[] =>
  formatNames(route).map((name) => BUILDERS[name](route, csvFormulaGuard));

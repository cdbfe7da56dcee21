import type { Format } from '../contracts/format.js';
import type { JsonRows } from '../contracts/storage.js';
import { rowText, textOf } from '../data/lazy-rows.js';
import { nonFinitePath } from '../validation/json.js';
import { valueAt } from '../validation/path.js';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Thrown if the response of a route cannot be sent. The client gets a 500, and the reason is logged. */
export class ResponseError extends Error {
  override readonly name = 'ResponseError';
}

/**
 * @param at JSON Pointer to the value within the response, for error messages
 * @throws ResponseError for undefined, NaN and infinite numbers, which JSON cannot represent
 */
export const jsonOf = (response: unknown, at = ''): string => {
  const stored = rowText(response);
  if (stored !== undefined) return stored;
  const text = JSON.stringify(response);
  if (text === undefined) throw new ResponseError(`it is ${String(response)}, which JSON cannot represent`);
  // `JSON.stringify` turns NaN and infinite numbers into null, so text without "null" needs no check.
  if (text.includes('null')) {
    const path = nonFinitePath(response);
    if (path) {
      const place = [at, ...path].join('/') || 'its root';
      throw new ResponseError(`it has ${valueAt(response, path)} at ${place}, which JSON cannot represent`);
    }
  }
  return text;
};

const NEWLINE = 0x0a;

export const jsonFormat: Format = {
  name: 'json',
  mediaTypes: [JSON_TYPE],
  description: 'JSON.',
  async *write(rows) {
    let start = '{"data":[';
    for await (const batch of rows) {
      const text = textOf(batch)?.map(({ json }) => json) ?? [jsonOf(batch).slice(1, -1)];
      for (const part of text) {
        yield start;
        yield part;
        start = ',';
      }
    }
    yield start === ',' ? ']}' : `${start}]}`;
  },
};

const linesIn = ({ json, ends }: JsonRows): Buffer => {
  const lines = Buffer.allocUnsafe(json.length + 1);
  json.copy(lines);
  for (const end of ends) lines[end] = NEWLINE;
  return lines;
};

export const ndjsonFormat: Format = {
  name: 'ndjson',
  mediaTypes: ['application/x-ndjson; charset=utf-8'],
  description: 'One JSON object per line.',
  async *write(rows) {
    for await (const batch of rows) {
      const text = textOf(batch);
      if (text) for (const part of text) yield linesIn(part);
      else yield batch.reduce((text, row) => `${text}${jsonOf(row)}\n`, '');
    }
  },
};

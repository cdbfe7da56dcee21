/** Reads one line of NDJSON, and says what is wrong with it. */
import { isUtf8 } from 'node:buffer';
import { findJsonFault } from '../config/json-fault.js';
import type { Document } from '../contracts/dataset.js';
import { isJsonObject } from '../is-object.js';

const describe = (text: string): string => {
  const fault = findJsonFault(text);
  if (!fault) return 'is not JSON';
  const hint = /^[+-]?(nan|inf)/i.test(text.slice(fault.column - 1))
    ? '; JSON has no NaN and no infinities: use null, or leave the row out'
    : '';
  return `is not JSON, column ${fault.column}: ${fault.problem}${hint}`;
};

/**
 * @param bytes without the line's end
 * @param position `last` for a line without an end of its own: perhaps the file was cut short in it
 * @returns undefined when the line is faulty, which has then been reported
 */
export const parseLine = (bytes: Buffer, onFault: (rule: string) => void, position?: 'last'): Document | undefined => {
  if (!isUtf8(bytes)) {
    onFault('is not UTF-8');
    return undefined;
  }
  const text = bytes.toString('utf8');
  if (text.trim() === '') {
    onFault('is empty: one JSON document a line is expected');
    return undefined;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    onFault(`${describe(text)}${position === 'last' ? ' (the file ends in this line: it was cut short)' : ''}`);
    return undefined;
  }
  if (isJsonObject(value)) return value;
  onFault('must be a JSON object');
  return undefined;
};

/** Our own parse of the request target: exact, and without objects that have a prototype. */
import { ApiError, errors } from '../errors.js';

export interface Target {
  /** The path as it was sent, still percent-encoded. */
  readonly path: string;
  /** Decoded pairs in their sequence. */
  readonly query: readonly (readonly [name: string, value: string])[];
}

/** Throws `invalid_parameter` where percent-encoding is malformed or not UTF-8. */
export const decodePercent = (text: string, place: 'path' | 'query', name: string): string => {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new ApiError(
      errors.invalid_parameter,
      `The ${place} has malformed percent-encoding: each % must begin the UTF-8 bytes of a character, as in %20.`,
      { details: [{ in: place, name, issue: 'malformed percent-encoding' }], cause },
    );
  }
};

/** Splits the target at its first `?`. `+` in a query is a space, as in HTML forms. */
export const parseTarget = (url: string): Target => {
  if (!url.startsWith('/')) {
    throw new ApiError(errors.invalid_parameter, 'The request target must begin with "/".');
  }
  const mark = url.indexOf('?');
  if (mark === -1) return { path: url, query: [] };
  const query = url
    .slice(mark + 1)
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const equals = pair.indexOf('=');
      const [rawName, rawValue] = equals === -1 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
      const name = decodePercent(rawName.replaceAll('+', ' '), 'query', rawName);
      return [name, decodePercent(rawValue.replaceAll('+', ' '), 'query', name)] as const;
    });
  return { path: url.slice(0, mark), query };
};

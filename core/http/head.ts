/** The head of a response as it goes over the wire: lines, each with its CRLF. */
import { validateHeaderName, validateHeaderValue } from 'node:http';

/**
 * For what is the same in many responses: it is checked here, once, and not with each of them.
 * @throws TypeError where a name or a value may not be in a head
 */
export const linesOf = (fields: Readonly<Record<string, string>>): string => {
  let lines = '';
  for (const [name, value] of Object.entries(fields)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
};

/** Names and values in turn, as Node and Koa take them. */
export const pairsOf = (lines: string): string[] =>
  lines
    .split('\r\n')
    .slice(0, -1)
    .flatMap((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 2)];
    });

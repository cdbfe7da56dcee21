/** What RFC 9112 section 3.2 asks of the Host header. Node keeps the first of two, and any text. */
import type { IncomingMessage } from 'node:http';
import { ApiError, errors } from '../errors.js';

/** `uri-host [":" port]` of RFC 9110 section 7.2: no user, no path, no spaces. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::\d{0,5})?$/;

const fault = (issue: string): ApiError =>
  new ApiError(errors.invalid_parameter, 'The Host header is not valid: send one, with the name of this service.', {
    details: [{ in: 'header', name: 'Host', issue }],
  });

const MISSING = fault('must be present');
const REPEATED = fault('must be sent once');
const MALFORMED = fault('must be a host, and a port where it is not the default one');

/** Clients send the same few: the last valid one needs no second look. */
let lastValid = '';

export const hostFault = ({ rawHeaders, httpVersionMinor }: IncomingMessage): ApiError | undefined => {
  let host: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (host !== undefined) return REPEATED;
    host = rawHeaders[i + 1]!;
  }
  if (host === undefined) return httpVersionMinor === 0 ? undefined : MISSING;
  if (host === lastValid) return undefined;
  if (!HOST.test(host)) return MALFORMED;
  lastValid = host;
  return undefined;
};

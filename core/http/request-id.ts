/** The id under which a request is logged and answered: the caller's, where it is harmless, or a new one. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { holdsKey } from '../keys/mask-keys.js';

const HARMLESS = /^[A-Za-z0-9._-]{1,64}$/;

// Unique per process by its random part, per request by its count: no randomness is drawn while serving.
const processId = randomBytes(8).toString('hex');
let count = 0;

export const newRequestId = (): string => `${processId}-${(++count).toString(36)}`;

export const requestId = ({ headers }: IncomingMessage): string => {
  const given = headers['x-request-id'];
  // A key that was put into the wrong header must not get into the log by it.
  const harmless = typeof given === 'string' && HARMLESS.test(given) && !holdsKey(given);
  return harmless ? given : newRequestId();
};

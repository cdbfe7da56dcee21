/** The log on standard error: one JSON object a line, or text for people. */
import { pino, stdTimeFunctions } from 'pino';
import pinoPretty from 'pino-pretty';
import type { LogConfig } from '../core/config/schema.js';
import type { Logger } from '../core/contracts/runtime.js';

const STDERR = 2;

export const createLogger = ({ level, format }: LogConfig): Logger => {
  const pretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  // JSON lines are gathered and written together: a line a request is then cheap.
  const destination = pretty
    ? pinoPretty({ destination: STDERR, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' })
    : pino.destination({ dest: STDERR, minLength: 4096, sync: false, periodicFlush: 250 });
  return pino({ level, base: { pid: process.pid }, timestamp: stdTimeFunctions.isoTime }, destination);
};

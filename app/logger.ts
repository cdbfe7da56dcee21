/** The log on standard error: one JSON object a line, or text for people. */
import cluster from 'node:cluster';
import { pino } from 'pino';
import type { LogConfig } from '../core/config/schema.js';
import type { Logger } from '../core/contracts/runtime.js';
import { loadPackage } from '../core/load-package.js';

const STDERR = 2;

export const createLogger = ({ level, format }: LogConfig): Logger => {
  const pretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY);
  const destination = pretty ? forPeople() : gathered();
  const logger = pino({ level, base: { pid: process.pid }, timestamp: isoTime }, destination);
  const info = `{"level":${logger.levels.values['info']}`;
  const base = `,"pid":${process.pid},`;
  const infoJson = (members: string, message: string): void => {
    if (logger.isLevelEnabled('info')) destination.write(`${info}${isoTime()}${base}${members},"msg":"${message}"}\n`);
  };
  return Object.assign(logger, { infoJson });
};

const forPeople = () => {
  const { build } = loadPackage('pino-pretty') as typeof import('pino-pretty');
  return build({ destination: STDERR, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' });
};

/** Pipes take 4 KiB whole, so that workers, who share one, do not write into each other's lines. */
const WRITTEN_AT_ONCE = cluster.isWorker ? 4096 : 32 * 1024;
const WRITTEN_AFTER_MS = 250;

/**
 * Lines are gathered and written together, so that a line a request is cheap. They wait here rather than in pino's
 * destination, which measures all that waits anew with each line.
 */
const gathered = () => {
  const destination = pino.destination({ dest: STDERR, sync: true });
  let lines = '';
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const text = lines;
    lines = '';
    if (text !== '') destination.write(text);
  };
  process.on('exit', flush);
  return {
    write(line: string): void {
      if (lines.length + line.length > WRITTEN_AT_ONCE) flush();
      lines += line;
      timer ??= setTimeout(flush, WRITTEN_AFTER_MS).unref();
    },
  };
};

let millisecond = 0;
let written = '';

/** Many lines have the same time: it is put into words once. */
const isoTime = (): string => {
  const now = Date.now();
  if (now !== millisecond) {
    millisecond = now;
    written = `,"time":"${new Date(now).toISOString()}"`;
  }
  return written;
};

/** The combined log format of Apache and nginx, for programs that analyse access logs. */
import { maskKeys } from '../keys/key.js';
import { FastResponse } from '../response/writer.js';
import { memoize } from '../util/lru-map.js';
import { printableLine } from '../util/printable.js';
import type { ApiContext } from './api-koa.js';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Formats a second as `[26/Nov/2026:07:05:09 +0000]`. */
const timestamp = memoize((second) => {
  const iso = new Date(Number(second) * 1000).toISOString();
  const [year, month, day] = iso.slice(0, 10).split('-');
  return `[${day}/${MONTHS[Number(month) - 1]}/${year}:${iso.slice(11, 19)} +0000]`;
});

/** Masks API keys, and escapes quotes and control characters. */
const field = (text: string | undefined): string =>
  text === undefined ? '-' : maskKeys(printableLine(text).replace(/["\\]/g, '\\$&'));

/**
 * Returns one line. The user is the id of the key, and the URL has no query.
 * @param address `-` if addresses are not logged
 */
export const combinedLine = ({ req, res, requestState: state }: ApiContext, address: string): string => {
  const time = timestamp(String(Math.floor(Date.now() / 1000)));
  const path = field((req.url ?? '').split('?', 1)[0]);
  const length = (res instanceof FastResponse ? res.contentLength : undefined) ?? '-';
  const { referer, 'user-agent': agent } = req.headers;
  const request = `"${field(req.method)} ${path} HTTP/${req.httpVersion}"`;
  return `${address} - ${state.caller?.key?.id ?? '-'} ${time} ${request} ${res.statusCode} ${length} "${field(referer?.split('?', 1)[0])}" "${field(agent)}"`;
};

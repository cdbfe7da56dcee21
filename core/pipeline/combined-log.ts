/** Writes the combined log format of Apache and nginx. */
import { maskKeys } from '../keys/key.js';
import { FastResponse } from '../response/writer.js';
import { memoize } from '../util/lru-map.js';
import { printableLine } from '../util/printable.js';
import type { ApiContext } from './api-koa.js';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const timestamp = memoize((second) => {
  const iso = new Date(Number(second) * 1000).toISOString();
  const [year, month, day] = iso.slice(0, 10).split('-');
  return `[${day}/${MONTHS[Number(month) - 1]}/${year}:${iso.slice(11, 19)} +0000]`;
});

const field = (text: string | undefined): string =>
  text === undefined ? '-' : maskKeys(printableLine(text).replace(/["\\]/g, '\\$&'));

/** Omits the query string, because it can contain secrets. */
export const combinedLine = ({ req, res, requestState: state }: ApiContext, address: string): string => {
  const time = timestamp(String(Math.floor(Date.now() / 1000)));
  const path = field((req.url ?? '').split('?', 1)[0]);
  const length = (res instanceof FastResponse ? res.contentLength : undefined) ?? '-';
  const { referer, 'user-agent': agent } = req.headers;
  const request = `"${field(req.method)} ${path} HTTP/${req.httpVersion}"`;
  return `${address} - ${state.caller?.key?.id ?? '-'} ${time} ${request} ${res.statusCode} ${length} "${field(referer?.split('?', 1)[0])}" "${field(agent)}"`;
};

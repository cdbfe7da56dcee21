/** Sends keys in every part of a request in which a caller could put a key by mistake. */
import { request, type TestResponse } from './http-client.js';
import { exchange } from './raw-http.js';

const HEADERS = ['X-Request-Id', 'traceparent', 'tracestate', 'Cookie', 'Origin', 'Referer', 'User-Agent'];
const MORE_HEADERS = ['X-Api-Key', 'X-Forwarded-For', 'If-None-Match', 'Accept', 'Accept-Encoding'];

const text = ({ headers, text: body }: TestResponse): string => `${JSON.stringify(headers)}${body}\n`;

export const misplaceKeys = async (url: string, keys: readonly string[], valid: string): Promise<string> => {
  let answers = '';
  const get = async (path: string, headers: Readonly<Record<string, string>>) => {
    answers += text(await request(`${url}${path}`, { headers }));
  };
  const authorized = { Authorization: `Bearer ${valid}` };
  for (const key of keys) {
    const basic = Buffer.from(`user:${key}`).toString('base64');
    for (const credentials of [
      `Bearer ${key}`,
      key,
      `Basic ${key}`,
      `Basic ${basic}`,
      `Bearer ${key}, x`,
      `Bearer "${key}"`,
    ]) {
      await get('/markets/26420', { Authorization: credentials });
    }
    for (const path of [
      `/movers?limit=${key}`,
      `/markets/${key}`,
      `/${key}`,
      `/movers?${key}=1`,
      `/movers?key=${key}`,
    ]) {
      await get(path, authorized);
    }
    for (const name of [...HEADERS, ...MORE_HEADERS]) await get('/markets/26420', { ...authorized, [name]: key });
    const { responses } = await exchange(Number(new URL(url).port), `GET /${key}\0 HTTP/1.1\r\nX: ${key}\r\n\r\n`);
    answers += JSON.stringify(responses);
  }
  return answers;
};

/** The bare server of Node with every answer prepared as bytes: the ceiling for anything written on it. */
import { createServer } from 'node:http';
import { BASE, readMarkets, ready } from './support.js';

const { list, byCode, histories } = readMarkets();

/** @param {unknown} data */
const prepare = (data) => {
  const body = Buffer.from(JSON.stringify(data));
  const head = ['Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(body.length)];
  return { head, body };
};

const answers = new Map([[`${BASE}/markets`, prepare({ data: list })]]);
for (const [cbsa, market] of byCode) answers.set(`${BASE}/markets/${cbsa}`, prepare(market));
for (const [cbsa, history] of histories) answers.set(`${BASE}/markets/${cbsa}/history`, prepare({ data: history }));

const server = createServer((request, response) => {
  const answer = answers.get(request.url ?? '');
  if (answer) response.writeHead(200, answer.head).end(answer.body);
  else response.writeHead(404).end();
});
server.listen(0, '127.0.0.1', () => ready(server.address().port));

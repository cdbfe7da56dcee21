/** json-server over the same rows. It has no keys and no limits; a history is a resource with the market's id. */
import jsonServer from 'json-server';
import { BASE, readMarkets, ready } from './support.js';

const { list, histories } = readMarkets();
const server = jsonServer.create();
server.use(
  BASE,
  jsonServer.router({ markets: list, history: list.map(({ id, cbsa }) => ({ id, data: histories.get(cbsa) })) }),
);
const listener = server.listen(0, '127.0.0.1', () => ready(listener.address().port));

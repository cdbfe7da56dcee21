/** json-server over the same rows. It has no keys and no limits; a history is a resource with the market's id. */
import jsonServer from 'json-server';
import { answers, BASE, ready } from './support.js';

/** @param {string} path */
const rowsAt = (path) => answers.get(BASE + path)?.body.data ?? [];

const markets = rowsAt('/markets');
const history = markets.map(({ id, cbsa }) => ({ id, data: rowsAt(`/markets/${cbsa}/history`) }));
const server = jsonServer.create();
server.use(BASE, jsonServer.router({ markets, history }));
const listener = server.listen(0, '127.0.0.1', () => ready(listener.address().port));

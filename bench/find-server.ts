/**
 * The least that a market fetched from MongoDB can take over HTTP: a bare `node:http` around the driver's find, with no
 * feature at all. A process of its own; takes address, database and code of the market, prints its URL.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { marketFinder } from './market-finder.js';

const [uri = '', database = '', cbsa = ''] = process.argv.slice(2);
const { find } = await marketFinder(uri, database, cbsa);
const server = createServer((_request, response) => {
  void find().then((row) => {
    const body = JSON.stringify(row?.d);
    response.writeHead(row ? 200 : 404, ['Content-Type', 'application/json', 'Content-Length', String(body.length)]);
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});

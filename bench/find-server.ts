/**
 * The least that a market fetched from MongoDB can take over HTTP: a bare `node:http` around the driver's find, with no
 * feature at all: the last part of a path is the market's code. A process of its own; takes address and database, prints
 * its URL.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { marketFinder } from './market-finder.js';

const [uri = '', database = ''] = process.argv.slice(2);
const { find } = await marketFinder(uri, database);
const server = createServer(({ url = '' }, response) => {
  void find(url.slice(url.lastIndexOf('/') + 1)).then((row) => {
    const body = JSON.stringify(row?.d);
    response.writeHead(row ? 200 : 404, ['Content-Type', 'application/json', 'Content-Length', String(body.length)]);
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});

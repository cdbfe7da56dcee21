/**
 * Opens many slow connections, and prints as JSON how long each one stayed open, in milliseconds. The script runs in
 * its own process, so that it does not slow down the server.
 *
 * Arguments: port, key, and pairs of a kind and a number of connections. `trickle` connections send a request head one
 * byte at a time. `silent` connections send nothing. `unread` connections send many requests and read no responses.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const [port, key, ...orders] = process.argv.slice(2) as [string, string, ...string[]];
const GIVE_UP_MS = 25_000;
const TRICKLE_MS = 500;
const PROBE_MS = 500;
/** Without a delay between connections, the service would see a flood of connections. */
const OPENING_MS = 10;
/** The responses to six requests fill the buffers on both sides of a connection. */
const UNREAD_REQUESTS = 6;

const head = (path: string): string =>
  `GET /api/v1${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\n\r\n`;

const behave = (socket: Socket, kind: string): void => {
  if (kind === 'trickle') {
    const bytes = head('/markets');
    let sent = 0;
    const timer = setInterval(() => socket.write(bytes[sent++ % bytes.length]!), TRICKLE_MS);
    socket.on('close', () => clearInterval(timer));
  } else if (kind === 'unread') {
    socket.pause();
    socket.write(head('/observations?series_id=metro_hpi').repeat(UNREAD_REQUESTS));
    // Unread responses hide the end of the stream. The client notices that the server has closed the connection when
    // another byte triggers a reset.
    const timer = setInterval(() => socket.write('\n'), PROBE_MS);
    socket.on('close', () => clearInterval(timer));
  }
};

const openFor = async (kind: string, index: number): Promise<number> => {
  await delay(index * OPENING_MS);
  return new Promise((resolve) => {
    const since = performance.now();
    const socket = connect(Number(port), '127.0.0.1', () => behave(socket, kind));
    const end = () => {
      clearTimeout(giveUp);
      socket.destroy();
      resolve(Math.round(performance.now() - since));
    };
    const giveUp = setTimeout(end, GIVE_UP_MS);
    socket.on('error', () => undefined);
    socket.on('end', end);
    socket.on('close', end);
    if (kind !== 'unread') socket.resume();
  });
};

const opened = orders.flatMap((kind, i) => {
  const count = Number(orders[i + 1]);
  return i % 2 === 0 ? [Promise.all(Array.from({ length: count }, (_, index) => openFor(kind, index)))] : [];
});
process.stdout.write(JSON.stringify(await Promise.all(opened)));

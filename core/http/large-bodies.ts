/** Large bodies on their way to the socket, in pieces between which other requests are answered. */
import type { ServerResponse } from 'node:http';
import { TurnQueue } from '../event-loop.js';

/** Handed to the system at once. Four megabytes at once would take up to 13 milliseconds, in which nobody is answered. */
export const PIECE_BYTES = 256 * 1024;
const largeBodies = new TurnQueue(0.5);

/** In turn with other large bodies, each as fast as it is read. The response has its headers already. */
export const endInPieces = async (response: ServerResponse, body: Buffer): Promise<void> => {
  const pauses = largeBodies.join();
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    await pauses.pause();
    // The client has gone.
    if (response.destroyed) return;
    const room = writeAtOnce(response, body.subarray(at, at + PIECE_BYTES));
    if (!room && response.writableLength > 0) await roomIn(response);
  }
  if (!response.destroyed) response.end();
};

/**
 * Without the cork, Node would wait for the end of the turn, to put together what may be written until then.
 * @returns whether there is room for more; if not, there will be a `drain`
 */
const writeAtOnce = (response: ServerResponse, piece: Buffer): boolean => {
  // There is no socket while the response waits for that of an earlier request on the same connection.
  response.socket?.cork();
  const room = response.write(piece);
  response.socket?.uncork();
  return room;
};

const roomIn = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.once('drain', settle).once('close', settle);
  });

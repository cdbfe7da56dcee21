/** Large bodies on their way to the socket, in pieces between which others are answered. */
import type { ServerResponse } from 'node:http';
import { TurnQueue } from '../event-loop.js';

/** Handed to the system at once. It would take four megabytes, and that can be 13 milliseconds in which nobody is answered. */
export const PIECE_BYTES = 256 * 1024;
const largeAnswers = new TurnQueue(0.5);

/** In turn with other large answers, each as fast as it is read. The head has been given to `response` before. */
export const endInPieces = async (response: ServerResponse, body: Buffer): Promise<void> => {
  const pauses = largeAnswers.join();
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    await pauses.pause();
    // Whoever asked has gone.
    if (response.destroyed) return;
    const room = writeAtOnce(response, body.subarray(at, at + PIECE_BYTES));
    if (!room && response.writableLength > 0) await roomIn(response);
  }
  if (!response.destroyed) response.end();
};

/**
 * Node would wait for the end of the turn, to put together what may be written until then.
 * @returns whether there is room for more; if not, there will be a `drain`
 */
const writeAtOnce = (response: ServerResponse, piece: Buffer): boolean => {
  // None where the answer waits for that of an earlier request on the same connection.
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

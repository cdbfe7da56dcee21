import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TurnQueue } from '../util/event-loop.js';

/**
 * Large bodies are written in pieces of this size, because writing 4 MB at once would block the event loop for up to 13
 * ms.
 */
export const PIECE_BYTES = 256 * 1024;
/** All applications in the process share this queue, because they share the event loop. */
const largeBodies = new TurnQueue(0.5);

export const endInPieces = async (response: ServerResponse, body: Buffer, caller?: string): Promise<void> => {
  const pauses = largeBodies.join(caller);
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    await pauses.pause();
    if (response.destroyed) return;
    const room = writeAtOnce(response, body.subarray(at, at + PIECE_BYTES));
    if (!room && response.writableLength > 0) await roomIn(response);
  }
  if (!response.destroyed) response.end();
};

export const firstOnConnection = async (response: ServerResponse, connection: Socket): Promise<void> => {
  if (response.socket || connection.destroyed) return;
  // Each pipelined request adds a listener to the connection. By default, Node warns if there are more than 10.
  connection.setMaxListeners(0);
  await new Promise<void>((resolve) => {
    const settle = () => {
      response.off('socket', settle);
      connection.off('close', settle);
      resolve();
    };
    response.once('socket', settle);
    connection.once('close', settle);
  });
};

/**
 * Writes a piece immediately. If the socket is not corked, Node corks it until the end of the event loop turn, to
 * combine several writes.
 */
const writeAtOnce = (response: ServerResponse, piece: Buffer): boolean => {
  // A response has no socket while an earlier response on the same connection is pending.
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

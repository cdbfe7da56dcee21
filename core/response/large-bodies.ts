/** Sends large bodies in pieces, so that other requests can be handled in between. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TurnQueue } from '../util/event-loop.js';

/** The size of a piece. Writing four megabytes at once would block the event loop for up to 13 milliseconds. */
export const PIECE_BYTES = 256 * 1024;
/** Shared by all applications in the process, because they share its event loop. */
const largeBodies = new TurnQueue(0.5);

/** Sends a body as fast as the client reads it. The large bodies of different callers are sent in turns. */
export const endInPieces = async (response: ServerResponse, body: Buffer, caller?: string): Promise<void> => {
  const pauses = largeBodies.join(caller);
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    await pauses.pause();
    // The client has closed the connection.
    if (response.destroyed) return;
    const room = writeAtOnce(response, body.subarray(at, at + PIECE_BYTES));
    if (!room && response.writableLength > 0) await roomIn(response);
  }
  if (!response.destroyed) response.end();
};

/** Resolves when all earlier responses on the connection have been sent, or when the connection has closed. */
export const firstOnConnection = async (response: ServerResponse, connection: Socket): Promise<void> => {
  if (response.socket || connection.destroyed) return;
  // Clients can pipeline many requests, each of which adds listeners.
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
 * Writes a piece immediately. Without the cork, Node would delay the write to the end of the turn of the event loop, in
 * order to combine it with later ones.
 * @returns whether more can be written now; if not, a `drain` event follows
 */
const writeAtOnce = (response: ServerResponse, piece: Buffer): boolean => {
  // A response that waits for an earlier one on the same connection has no socket yet.
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

import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Logger } from '../contracts/runtime.js';
import type { ApiContext } from '../pipeline/api-koa.js';
import { firstOnConnection } from '../response/large-bodies.js';
import { type Encoding, type Prepared, Representation } from '../response/representation.js';
import { addLines } from '../response/writer.js';
import type { Pauses } from '../util/event-loop.js';
import type { ListResponse } from './list-response.js';
import type { WorkQueue } from './work-queue.js';

type Body = Representation | Prepared | Readable;

interface Client {
  readonly caller: string;
  readonly connection: Socket;
}

export const listSender = (lists: WorkQueue, logger: Logger) => {
  const inTurn = (ctx: ApiContext, list: ListResponse, encoding: Encoding, { caller, connection }: Client) =>
    new Promise<Body>((resolve, reject) => {
      const send = async (pauses: Pauses): Promise<void> => {
        const opened = await list.open(pauses, encoding, logger);
        if (opened instanceof Representation) {
          await opened.encoding(encoding);
          list.release();
          return resolve(opened);
        }
        const prepared = await list.prepare(ctx.req, encoding);
        if (prepared) opened.body.destroy();
        else addLines(ctx.res, opened.lines);
        resolve(prepared ?? opened.body);
        await list.closed;
      };
      lists.run(caller, send, connection).catch(reject);
    });
  return async (ctx: ApiContext, list: ListResponse, encoding: Encoding, client: Client): Promise<Body> => {
    try {
      const prepared = await list.prepare(ctx.req, encoding);
      if (prepared) {
        list.release();
        return prepared;
      }
      // A list must not occupy a place in the queue while it waits for an earlier response on its connection. The
      // earlier response might be waiting for that place.
      await lists.waitOutOfTurn(client.caller, () => firstOnConnection(ctx.res, client.connection));
      return await inTurn(ctx, list, encoding, client);
    } catch (error) {
      list.release();
      throw error;
    }
  };
};

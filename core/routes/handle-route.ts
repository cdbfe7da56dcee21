import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Logger } from '../contracts/runtime.js';
import { nothingPublished } from '../data/publishing.js';
import type { ApiContext, ApiMiddleware } from '../pipeline/api-koa.js';
import { serviceRequest } from '../pipeline/caller.js';
import { firstOnConnection } from '../response/large-bodies.js';
import { chooseEncoding, type Encoding, type Prepared, Representation } from '../response/representation.js';
import { addLines } from '../response/writer.js';
import type { Pauses } from '../util/event-loop.js';
import type { CurrentSnapshot } from './current-snapshot.js';
import { dataRequest } from './response-cache.js';
import type { RouteMatch } from './route-table.js';
import { type ServiceDependencies, serviceResponses } from './service-response.js';
import type { StreamedListResponse } from './streamed-list.js';
import type { FoundResponse, Vintages } from './vintages.js';
import { LOCAL, type WorkQueue, type WorkQueues } from './work-queue.js';

interface RouteDependencies extends ServiceDependencies {
  readonly compression: boolean;
  readonly snapshots: CurrentSnapshot;
  readonly vintages: Vintages;
  readonly work: WorkQueues;
  readonly logger: Logger;
}

type Find = (pauses: Pauses) => FoundResponse | Promise<FoundResponse>;

/** Handles requests to routes. If the response is cached, `ctx.body` is set synchronously. */
export const handleRoute = (dependencies: RouteDependencies): ApiMiddleware => {
  const { snapshots, vintages, work, compression, logger, publicUrlOf } = dependencies;
  const openList = listOpener(work.lists, logger);
  const { sharedResponse, ownResponse } = serviceResponses(dependencies);
  const currentSnapshot = () => {
    const served = snapshots.served;
    if (!served) throw nothingPublished();
    return served;
  };
  const encodingFor = ({ req }: ApiContext): Encoding =>
    compression ? chooseEncoding(req.headers['accept-encoding'] as string | undefined) : 'identity';
  const setBody = (ctx: ApiContext, body: unknown, { isCached, snapshotVersion }: FoundResponse): void => {
    ctx.requestState.snapshotVersion = snapshotVersion;
    ctx.requestState.cacheHit = isCached;
    ctx.body = body;
  };
  const respondInTurn = async (ctx: ApiContext, find: Find): Promise<void> => {
    const admitted = ctx.requestState.isAdmitted ? 1 : 0;
    work.queuedOrAbandoned += admitted;
    try {
      await respondInQueues(ctx, find);
    } finally {
      work.queuedOrAbandoned -= admitted;
    }
  };
  const respondInQueues = async (ctx: ApiContext, find: Find): Promise<void> => {
    const caller = ctx.requestState.caller?.id ?? LOCAL;
    const connection = ctx.requestState.connection ?? ctx.req.socket;
    const encoding = encodingFor(ctx);
    const turn = async (pauses: Pauses): Promise<FoundResponse> => {
      const found = await find(pauses);
      const { representation } = found;
      const isEncoded = !(representation instanceof Representation) || representation.has(encoding);
      if (!isEncoded) await representation.encoding(encoding);
      return found;
    };
    const found = await work.responses.run(caller, turn, connection);
    const { representation } = found;
    if (representation instanceof Representation) setBody(ctx, representation, found);
    else setBody(ctx, await openList(ctx, representation, encoding, { caller, connection }), found);
  };
  const respond = (ctx: ApiContext, representation: Representation, found: FoundResponse): void | Promise<void> =>
    representation.has(encodingFor(ctx)) ? setBody(ctx, representation, found) : respondInTurn(ctx, () => found);
  return (ctx) => {
    // `checkRequest` has already rejected requests that match no route.
    const { endpoint, input, cacheKey, asOf } = ctx.requestState.match as RouteMatch;
    const { route } = endpoint;
    if (route.kind === 'service') {
      const run = () =>
        endpoint.shared
          ? sharedResponse(endpoint.pattern, route)
          : ownResponse(route, input, serviceRequest(ctx, publicUrlOf(ctx.req)));
      return work
        .handle(ctx, run)
        .then((representation) => respond(ctx, representation, { representation, isCached: false }));
    }
    const request = dataRequest(route, input, ctx.requestState.format!, cacheKey);
    const served = currentSnapshot();
    if (asOf !== undefined) return respondInTurn(ctx, (pauses) => vintages.respond(asOf, request, pauses));
    const representation = served.responses.get(request.cacheKey);
    if (!representation) return respondInTurn(ctx, (pauses) => currentSnapshot().respond(request, pauses));
    return respond(ctx, representation, { representation, isCached: true, snapshotVersion: served.version });
  };
};

interface Client {
  readonly caller: string;
  readonly connection: Socket;
}

/** Waits for a place in the queue of lists, except for a HEAD or conditional request for a large list. */
const listOpener = (lists: WorkQueue, logger: Logger) => {
  const openInTurn = (ctx: ApiContext, list: StreamedListResponse, encoding: Encoding, client: Client) =>
    new Promise<Representation | Prepared | Readable>((resolve, reject) => {
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
      lists.run(client.caller, send, client.connection).catch(reject);
    });
  return async (ctx: ApiContext, list: StreamedListResponse, encoding: Encoding, client: Client) => {
    try {
      const prepared = await list.prepare(ctx.req, encoding);
      if (prepared) {
        list.release();
        return prepared;
      }
      // A list must not occupy a place in the queue while it waits for an earlier response on its connection. The
      // earlier response might be waiting for that place.
      await lists.waitOutOfTurn(client.caller, () => firstOnConnection(ctx.res, client.connection));
      return await openInTurn(ctx, list, encoding, client);
    } catch (error) {
      list.release();
      throw error;
    }
  };
};

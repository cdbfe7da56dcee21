/** Lets pages and other protocols ask the routes what a client would, within their own request. */
import type { MountContext } from '../contracts/plugin.js';
import type { Logger } from '../contracts/runtime.js';
import type { answerer } from './answers.js';
import { errorReply } from './error-reply.js';
import { jsonForm } from './form.js';
import { newRequestId } from './request-id.js';
import type { RouteTable } from './route-table.js';

export const mountContext = (
  routes: RouteTable,
  answer: ReturnType<typeof answerer>,
  { basePath, compression }: Pick<MountContext, 'basePath' | 'compression'>,
  logger: Logger,
): MountContext => ({
  routes: routes.routes.map(({ route }) => route),
  mounts: routes.mounts.map(({ mount }) => mount),
  basePath,
  compression,
  async request(target) {
    try {
      const match = routes.resolve(`${basePath}${target}`);
      if (match.fault) throw match.fault;
      if (match.input === undefined) throw new Error(`${target} is not a route`);
      const { representation } = await answer(match, match.form ?? jsonForm);
      const { identity } = await representation;
      return { status: 200, body: identity.body.toString() };
    } catch (error) {
      const { status, body } = errorReply(error, logger, newRequestId());
      return { status, body: String(body) };
    }
  },
});

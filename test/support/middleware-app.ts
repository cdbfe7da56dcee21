/** Starts a service with middleware that a test can replace: around one plugin, around the service, or in a mount. */
import type { Middleware } from 'koa';
import compose from 'koa-compose';
import { dataRoute, definePlugin, serviceRoute } from '../../core/contracts/plugin.js';
import { ApiError, defineError } from '../../core/errors.js';
import mcp from '../../plugins/mcp/index.js';
import * as metro from '../../plugins/metro/collections.js';
import { type KeptLogger, keptLogger } from './kept-logger.js';
import { startTestApp, type TestApp } from './test-app.js';

export interface Chosen {
  own: readonly Middleware[];
  around: readonly Middleware[];
  mount: Middleware;
}

export interface MiddlewareApp extends TestApp {
  readonly chosen: Chosen;
  readonly logger: KeptLogger;
  use(chosen: Partial<Chosen>): void;
}

const NOTHING: Chosen = { own: [], around: [], mount: () => undefined };

const no_thing = defineError({ code: 'no_thing', status: 404, sentence: 'There is no such thing.', when: 'Unknown.' });

/** 100 rows are enough for compressed responses. */
const THINGS = Array.from({ length: 100 }, (_, i) => ({ id: i + 1, name: `Thing number ${i + 1}` }));

const rows = {
  type: 'object',
  required: ['data'],
  additionalProperties: false,
  properties: {
    data: {
      type: 'array',
      items: {
        title: 'Thing',
        type: 'object',
        required: ['id', 'name'],
        additionalProperties: false,
        properties: { id: { type: 'integer' }, name: { type: 'string' } },
      },
    },
  },
} as const;

export const startMiddlewareApp = async (config: Readonly<Record<string, unknown>> = {}): Promise<MiddlewareApp> => {
  const chosen: Chosen = { ...NOTHING };
  const logger = keptLogger();
  const plugin = definePlugin({
    name: 'things',
    version: '1.0.0',
    description: 'Has middleware.',
    collections: [metro.markets],
    middleware: () => [(ctx, next) => compose([...chosen.own])(ctx, next)],
    serviceMiddleware: () => [(ctx, next) => compose([...chosen.around])(ctx, next)],
    routes: () => [
      dataRoute({
        path: '/things',
        operationId: 'listThings',
        summary: 'Things',
        response: { description: 'All.', schema: rows, example: { data: [] } },
        handler: async () => ({ data: THINGS }),
      }),
      dataRoute({
        path: '/things/{id}',
        operationId: 'getThing',
        summary: 'A thing',
        parameters: { path: { id: { description: 'Its number.', schema: { type: 'integer' } } } },
        response: { description: 'It.', schema: { type: 'object' }, example: {} },
        errors: [no_thing],
        async handler({ id }) {
          const thing = THINGS.find((each) => each.id === id);
          if (!thing) throw new ApiError(no_thing);
          return thing;
        },
      }),
      serviceRoute({
        path: '/now',
        operationId: 'getNow',
        summary: 'Something of the service',
        response: { description: 'It.', schema: { type: 'object' }, example: {} },
        handler: async () => ({ draining: false }),
      }),
    ],
    mounts: () => [
      {
        path: '/mount',
        summary: 'A mount',
        methods: ['GET', 'HEAD', 'POST'],
        handler: (ctx, mount) => chosen.mount(ctx, mount),
      },
    ],
  });
  const service = await startTestApp({
    config,
    overrides: {
      logger,
      plugins: [{ plugin }, { plugin: mcp as never, options: { path: '/mcp', maxAnswerBytes: 100_000 } }],
    },
  });
  return { ...service, chosen, logger, use: (some) => void Object.assign(chosen, NOTHING, some) };
};

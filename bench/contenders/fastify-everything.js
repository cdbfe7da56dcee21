/** What the service does with every request beside keys and limits, as one would add it to Fastify. */
import { randomBytes } from 'node:crypto';
import compress from '@fastify/compress';
import cors from '@fastify/cors';
import etag from '@fastify/etag';
import helmet from '@fastify/helmet';
import { pino } from 'pino';
import prometheus from 'prom-client';

const STDERR = 2;
const EXPOSED = ['Age', 'ETag', 'Last-Modified', 'RateLimit', 'Retry-After', 'Snapshot-Version', 'X-Request-Id'];
const LATENCY_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Ids without randomness for each, and a log whose lines are written together. */
export const everythingOptions = () => {
  const prefix = randomBytes(8).toString('hex');
  let count = 0;
  const destination = pino.destination({ dest: STDERR, minLength: 4096, sync: true });
  return {
    genReqId: () => `${prefix}-${(++count).toString(36)}`,
    requestIdHeader: 'x-request-id',
    loggerInstance: pino({ level: 'info' }, destination),
    // One line a request instead of two, written below.
    disableRequestLogging: true,
  };
};

/** @param {import('fastify').FastifyInstance} app */
export const addEverything = async (app) => {
  await app.register(cors, { origin: '*', exposedHeaders: EXPOSED });
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    },
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    ...Object.fromEntries(
      [
        ...['crossOriginOpenerPolicy', 'originAgentCluster', 'strictTransportSecurity', 'xDnsPrefetchControl'],
        ...['xDownloadOptions', 'xFrameOptions', 'xPermittedCrossDomainPolicies', 'xXssProtection'],
      ].map((header) => [header, false]),
    ),
  });
  await app.register(compress, { threshold: 1024, encodings: ['br', 'gzip', 'identity'] });
  await app.register(etag);

  const duration = new prometheus.Histogram({
    name: 'http_request_duration_seconds',
    help: 'By route and status.',
    labelNames: ['route', 'status'],
    buckets: LATENCY_BOUNDS,
  });
  const lastModified = new Date().toUTCString();
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({
      'X-Request-Id': request.id,
      'Cache-Control': 'private, no-cache',
      'Last-Modified': lastModified,
      'Snapshot-Version': 'bench',
    });
  });
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    duration.observe({ route, status: reply.statusCode }, reply.elapsedTime / 1000);
    request.log.info({ method: request.method, route, status: reply.statusCode, ms: reply.elapsedTime }, 'request');
  });
};

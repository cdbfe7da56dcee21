/** Features of the service that every contender must have: log, metrics, request ids, CORS and security headers. */
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import prometheus from 'prom-client';

export const log = pino({ level: 'info' }, pino.destination({ dest: 2, minLength: 4096, sync: true }));

const prefix = randomBytes(8).toString('hex');
let count = 0;
/** Increments a counter, which is faster than generating a random id for each request. */
export const newId = () => `${prefix}-${(++count).toString(36)}`;

const lastModified = new Date().toUTCString();

/** @param {string} id */
export const headersOf = (id) => ({
  'X-Request-Id': id,
  'Cache-Control': 'private, no-cache',
  'Last-Modified': lastModified,
  'Snapshot-Version': 'bench',
});

export const corsOptions = {
  origin: '*',
  exposedHeaders: ['Age', 'ETag', 'Last-Modified', 'RateLimit', 'Retry-After', 'Snapshot-Version', 'X-Request-Id'],
};

const UNUSED = [
  ...['crossOriginOpenerPolicy', 'originAgentCluster', 'strictTransportSecurity', 'xDnsPrefetchControl'],
  ...['xDownloadOptions', 'xFrameOptions', 'xPermittedCrossDomainPolicies', 'xXssProtection'],
];
const directives = { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] };
export const helmetOptions = {
  contentSecurityPolicy: { useDefaults: false, directives },
  crossOriginResourcePolicy: { policy: 'cross-origin' },
  ...Object.fromEntries(UNUSED.map((header) => [header, false])),
};

export const COMPRESSION_THRESHOLD = 1024;

const duration = new prometheus.Histogram({
  name: 'http_request_duration_seconds',
  help: 'Duration of requests in seconds.',
  labelNames: ['route', 'status'],
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});

/** @param {{ id: string, method: string, route: string, status: number, ms: number }} request */
export const record = ({ id, method, route, status, ms }) => {
  duration.observe({ route, status }, ms / 1000);
  log.info({ reqId: id, method, route, status, ms }, 'request');
};

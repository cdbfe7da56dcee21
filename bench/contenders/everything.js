/** What the service does with every request beside keys, limits and compression, for contenders that do it as well. */
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import prometheus from 'prom-client';

const STDERR = 2;

/** A log whose lines are written together. */
export const log = pino({ level: 'info' }, pino.destination({ dest: STDERR, minLength: 4096, sync: true }));

const prefix = randomBytes(8).toString('hex');
let count = 0;
/** Ids without randomness for each. */
export const newId = () => `${prefix}-${(++count).toString(36)}`;

const lastModified = new Date().toUTCString();

/** @param {string} id of the request */
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

/** The service's security headers: Helmet without those that only pages need. */
export const helmetOptions = {
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
};

/** As the service compresses: nothing shorter, and br before gzip. */
export const COMPRESSION_THRESHOLD = 1024;

const duration = new prometheus.Histogram({
  name: 'http_request_duration_seconds',
  help: 'By route and status.',
  labelNames: ['route', 'status'],
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});

/**
 * One request in the metrics and in the log.
 * @param {{ id: string, method: string, route: string, status: number, ms: number }} request
 */
export const record = ({ id, method, route, status, ms }) => {
  duration.observe({ route, status }, ms / 1000);
  log.info({ reqId: id, method, route, status, ms }, 'request');
};

/** Status: the platform's health for people and monitors, and a readiness ping for load balancers. */
import type { Cadence, Source } from '../core/contracts/dataset.js';
import { definePlugin, type ServiceState, serviceRoute } from '../core/contracts/plugin.js';
import { ApiError, errors } from '../core/errors.js';
import {
  CADENCES,
  date,
  dateTime,
  type ForecastRun,
  forecastRuns,
  nullable,
  record,
  text,
} from '../metro/collections.js';
import { nextPeriod } from '../metro/periods.js';
import { newestRuns, PLUGIN_VERSION } from './shared.js';

/** From best to worst. */
const LEVELS = ['operational', 'unknown', 'degraded', 'outage'] as const;
type Level = (typeof LEVELS)[number];

interface Component {
  readonly id: 'api' | 'pipeline' | 'model';
  readonly status: Level;
  readonly message: string | null;
  readonly updated_at: string | null;
}

type Freshness = 'fresh' | 'late' | 'stale' | 'unknown';

const worst = (levels: readonly Level[]): Level =>
  levels.reduce((a, b) => (LEVELS.indexOf(a) > LEVELS.indexOf(b) ? a : b), 'operational');

/** RFC 3339 without fractions of a second. */
const timestamp = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, 'Z');

/** Whole seconds since the end of the period that begins on `start`. */
const secondsSince = (start: string, cadence: Cadence, now: Date): number =>
  Math.max(0, Math.floor((now.getTime() - Date.parse(nextPeriod(start, cadence))) / 1000));

const sourceRow = (source: Source, now: Date) => {
  const { id, cadence, latest_period, last_loaded_at, late_after_seconds, stale_after_seconds } = source;
  const age = latest_period === null ? null : secondsSince(latest_period, cadence, now);
  const state: Freshness =
    age === null ? 'unknown' : age >= stale_after_seconds ? 'stale' : age >= late_after_seconds ? 'late' : 'fresh';
  return {
    id,
    cadence,
    state,
    latest_period,
    last_loaded_at,
    age_seconds: age,
    late_after_seconds,
    stale_after_seconds,
  };
};

const apiComponent = async (service: ServiceState): Promise<Component> => {
  const problems: string[] = [];
  const readable = await service.pingStorage().then(
    () => true,
    () => false,
  );
  if (!readable) problems.push('Storage cannot be read; answers that are kept are still served.');
  for (const part of ['limiter', 'cache', 'keys'] as const) {
    const { ok, message } = service.health[part];
    if (!ok) problems.push(message ?? `The ${part} is impaired.`);
  }
  return {
    id: 'api',
    status: !service.snapshot ? 'outage' : problems.length > 0 ? 'degraded' : 'operational',
    message: problems.length > 0 ? problems.join(' ') : null,
    updated_at: timestamp(service.now),
  };
};

const pipelineComponent = (service: ServiceState, states: readonly Freshness[]): Component => {
  const { snapshot, health } = service;
  if (!snapshot) return { id: 'pipeline', status: 'unknown', message: 'No dataset has been loaded.', updated_at: null };
  const behind = states.filter((state) => state === 'late' || state === 'stale').length;
  const problems: string[] = [];
  if (!health.storage.ok && health.storage.message) problems.push(health.storage.message);
  if (behind > 0) problems.push(`${behind} of ${states.length} sources are behind their schedule.`);
  const known = states.some((state) => state !== 'unknown');
  return {
    id: 'pipeline',
    status: problems.length > 0 ? 'degraded' : known ? 'operational' : 'unknown',
    message: problems.length > 0 ? problems.join(' ') : null,
    updated_at: timestamp(snapshot.publishedAt),
  };
};

const modelComponent = async ({ snapshot }: ServiceState): Promise<Component> => {
  const unknown = (message: string): Component => ({ id: 'model', status: 'unknown', message, updated_at: null });
  if (!snapshot) return unknown('No dataset has been loaded.');
  let runs: readonly ForecastRun[];
  try {
    runs = await newestRuns(snapshot);
  } catch {
    return unknown('The runs cannot be read right now.');
  }
  const newest = runs.find(({ status }) => status !== 'running');
  const completed = runs.find(({ status }) => status === 'completed');
  if (!completed) return unknown('No run has been completed.');
  const failed = newest?.status === 'failed';
  return {
    id: 'model',
    status: failed ? 'degraded' : 'operational',
    message: failed ? 'The newest run failed; the one before it is served.' : null,
    updated_at: completed.run_at,
  };
};

const statusOf = async (service: ServiceState) => {
  const sources = (service.snapshot?.manifest.sources ?? []).map((source) => sourceRow(source, service.now));
  const components = [
    await apiComponent(service),
    pipelineComponent(
      service,
      sources.map(({ state }) => state),
    ),
    await modelComponent(service),
  ];
  return {
    status: worst(components.map(({ status }) => status)),
    generated_at: timestamp(service.now),
    snapshot: service.snapshot
      ? {
          version: service.snapshot.version,
          published_at: timestamp(service.snapshot.publishedAt),
          synthetic: service.snapshot.manifest.synthetic,
        }
      : null,
    components,
    sources,
  };
};

const level = { type: 'string', enum: LEVELS };
const seconds = { type: 'integer', minimum: 0 };

const statusSchema = {
  title: 'Status',
  ...record({
    status: { ...level, description: 'That of the worst component.' },
    generated_at: dateTime,
    snapshot: {
      anyOf: [
        record({
          version: text,
          published_at: dateTime,
          synthetic: { type: 'boolean', description: 'Whether the numbers are made up.' },
        }),
        { type: 'null' },
      ],
    },
    components: {
      type: 'array',
      items: record({
        id: { type: 'string', enum: ['api', 'pipeline', 'model'] },
        status: level,
        message: nullable({ type: 'string' }),
        updated_at: nullable(dateTime),
      }),
    },
    sources: {
      type: 'array',
      items: record({
        id: text,
        cadence: { type: 'string', enum: CADENCES },
        state: { type: 'string', enum: ['fresh', 'late', 'stale', 'unknown'] },
        latest_period: { ...nullable(date), description: 'First day of the newest period.' },
        last_loaded_at: nullable(dateTime),
        age_seconds: { ...nullable(seconds), description: 'Since the end of the newest period.' },
        late_after_seconds: seconds,
        stale_after_seconds: seconds,
      }),
    },
  }),
};

export default definePlugin({
  name: 'status',
  version: PLUGIN_VERSION,
  description: 'Health of the platform and freshness of its sources, and a readiness ping.',
  collections: [forecastRuns],
  routes: () => [
    serviceRoute({
      path: '/status',
      operationId: 'getStatus',
      summary: 'Health of the platform, its components and its sources',
      description: 'Built once a minute for all callers together; needs no API key.',
      key: false,
      sharedSeconds: 60,
      response: {
        description: 'The snapshot of the platform.',
        schema: statusSchema,
        example: {
          status: 'operational',
          generated_at: '2026-03-01T12:00:00Z',
          snapshot: { version: '2025Q4', published_at: '2026-02-24T00:00:00Z', synthetic: false },
          components: [
            { id: 'api', status: 'operational', message: null, updated_at: '2026-03-01T12:00:00Z' },
            { id: 'pipeline', status: 'operational', message: null, updated_at: '2026-02-24T00:00:00Z' },
            { id: 'model', status: 'operational', message: null, updated_at: '2026-02-24T00:00:00Z' },
          ],
          sources: [
            {
              id: 'fhfa_hpi',
              cadence: 'quarterly',
              state: 'fresh',
              latest_period: '2025-10-01',
              last_loaded_at: '2026-02-24T00:00:00Z',
              age_seconds: 5140800,
              late_after_seconds: 13824000,
              stale_after_seconds: 21600000,
            },
          ],
        },
      },
      handler: (_input, { service }) => statusOf(service),
    }),
    serviceRoute({
      path: '/health',
      operationId: 'getHealth',
      summary: 'Whether this replica can answer',
      description: 'A readiness ping: needs no API key and is never rate limited. Platform health is in `/status`.',
      key: false,
      limited: false,
      response: {
        description: 'Ready.',
        schema: { title: 'Health', ...record({ status: { const: 'ok' } }) },
        example: { status: 'ok' },
      },
      async handler(_input, { service }) {
        if (service.draining) throw new ApiError(errors.service_unavailable, 'The service is shutting down.');
        if (!service.snapshot) throw new ApiError(errors.service_unavailable, 'No dataset has been loaded yet.');
        await service.pingStorage();
        return { status: 'ok' };
      },
    }),
  ],
});

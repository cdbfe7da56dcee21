/** Serves `/status`, `/ready` and `/health`: the state of the service and the freshness of its data. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  ApiError,
  type ComponentState,
  definePlugin,
  errors,
  type Manifest,
  type PluginContext,
  periods,
  type Route,
  type ServiceState,
  type Source,
  type StatusComponent,
  schemas,
  serviceRoute,
  version,
} from 'metro-forecast-api/plugin';

const { date, dateTime, nullable, record, text } = schemas;

type Level = ComponentState['status'];

/** Levels in order, from best to worst. */
const LEVELS: readonly Level[] = ['operational', 'unknown', 'degraded', 'outage'];

const worst = (levels: readonly Level[]): Level =>
  levels.reduce((a, b) => (LEVELS.indexOf(a) > LEVELS.indexOf(b) ? a : b), 'operational');

const timestamp = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, 'Z');

type Freshness = 'fresh' | 'late' | 'stale' | 'unknown';

const freshnessOf = ({ late_after_seconds, stale_after_seconds }: Source, age: number | null): Freshness => {
  if (age === null) return 'unknown';
  if (age >= stale_after_seconds) return 'stale';
  return age >= late_after_seconds ? 'late' : 'fresh';
};

const sourceRow = (source: Source, age: number | null) => {
  const { id, cadence, latest_period, last_loaded_at, late_after_seconds, stale_after_seconds } = source;
  return {
    id,
    cadence,
    state: freshnessOf(source, age),
    latest_period,
    last_loaded_at,
    age_seconds: age,
    late_after_seconds,
    stale_after_seconds,
  };
};

const sourceRows = (manifest: Manifest, now: Date) =>
  manifest.sources.map((source) => sourceRow(source, periods.ageIn(manifest, source, now)));

const PARTS = [
  ['limiter', 'rate limiter'],
  ['cache', 'cache'],
  ['keys', 'key store'],
] as const;

const api: CheckedComponent = {
  id: 'api',
  async check(state) {
    const problems: string[] = [];
    const readable = await state.pingStorage().then(
      () => true,
      () => false,
    );
    if (!readable) problems.push('Storage is unreachable; cached responses are still served.');
    for (const [part, name] of PARTS) {
      const { ok, message } = state.health[part];
      if (!ok) problems.push(message ?? `The ${name} is impaired.`);
    }
    return {
      status: !state.snapshot ? 'outage' : problems.length > 0 ? 'degraded' : 'operational',
      message: problems.length > 0 ? problems.join(' ') : null,
      updated_at: timestamp(state.now),
    };
  },
};

const storage: CheckedComponent = {
  id: 'storage',
  check({ snapshot, health, now }) {
    if (!snapshot) return { status: 'unknown', message: 'No dataset has been loaded.', updated_at: null };
    const { sources } = snapshot.manifest;
    const states = sources.map((source) => freshnessOf(source, periods.ageIn(snapshot.manifest, source, now)));
    const behind = states.filter((state) => state === 'late' || state === 'stale').length;
    const problems: string[] = [];
    if (!health.storage.ok && health.storage.message) problems.push(health.storage.message);
    if (behind > 0) problems.push(`${behind} of ${states.length} sources are behind their schedule.`);
    // A dataset without sources has no schedule, so its data is never late.
    const known = states.length === 0 || states.some((state) => state !== 'unknown');
    return {
      status: problems.length > 0 ? 'degraded' : known ? 'operational' : 'unknown',
      message: problems.length > 0 ? problems.join(' ') : null,
      updated_at: timestamp(snapshot.publishedAt),
    };
  },
};

type CheckedComponent = StatusComponent & Required<Pick<StatusComponent, 'check'>>;

/** Plugins can replace the components `api` and `storage`, and add their own. */
const componentsOf = (declared: readonly StatusComponent[]): readonly CheckedComponent[] => [
  ...[api, storage].map((own) => ({ ...own, ...declared.find(({ replaces }) => replaces === own.id) })),
  ...declared.filter((component): component is CheckedComponent => component.replaces === undefined),
];

/** Maximum time for a check. Without a limit, a check that never ends would delay all requests for the status. */
const CHECK_MS = 5000;
const UNKNOWN = {
  status: 'unknown',
  message: 'This component cannot be checked right now.',
  updated_at: null,
} as const;

const componentState = async (component: CheckedComponent, state: ServiceState) => {
  const { id } = component;
  try {
    const late = delay(CHECK_MS, UNKNOWN, { ref: false });
    const { status, message, updated_at } = await Promise.race([component.check(state), late]);
    return { id, status, message, updated_at };
  } catch {
    return { id, ...UNKNOWN };
  }
};

const statusOf = async (state: ServiceState, checked: readonly CheckedComponent[]) => {
  const components = await Promise.all(checked.map((component) => componentState(component, state)));
  return {
    status: worst(components.map(({ status }) => status)),
    generated_at: timestamp(state.now),
    snapshot: state.snapshot
      ? {
          version: state.snapshot.version,
          published_at: timestamp(state.snapshot.publishedAt),
          synthetic: state.snapshot.manifest.synthetic,
        }
      : null,
    components,
    sources: state.snapshot ? sourceRows(state.snapshot.manifest, state.now) : [],
  };
};

const level = { type: 'string', enum: LEVELS } as const;
const seconds = { type: 'integer', minimum: 0 } as const;

const statusSchema = (ids: readonly string[]) => ({
  title: 'Status',
  ...record({
    status: { ...level, description: 'The worst status among the components.' },
    generated_at: dateTime,
    snapshot: {
      anyOf: [
        record({
          version: text,
          published_at: dateTime,
          synthetic: { type: 'boolean', description: 'Whether the data is synthetic.' },
        }),
        { type: 'null' },
      ],
    },
    components: {
      type: 'array',
      items: record({
        id: { type: 'string', enum: ids },
        status: level,
        message: nullable({ type: 'string' }),
        updated_at: nullable(dateTime),
      }),
    },
    sources: {
      type: 'array',
      items: record({
        id: text,
        cadence: schemas.cadence,
        state: { type: 'string', enum: ['fresh', 'late', 'stale', 'unknown'] },
        latest_period: { ...nullable(date), description: 'First day of the latest period.' },
        last_loaded_at: nullable(dateTime),
        age_seconds: { ...nullable(seconds), description: 'Seconds since the end of the latest period.' },
        late_after_seconds: seconds,
        stale_after_seconds: seconds,
      }),
    },
  }),
});

const statusRoute = ({ components: declared }: PluginContext): Route => {
  const components = componentsOf(declared);
  return serviceRoute({
    path: '/status',
    operationId: 'getStatus',
    summary: 'Health of the service, its components and its sources',
    description: 'The same for all callers, and updated once a minute. Needs no API key.',
    key: false,
    sharedSeconds: 60,
    response: {
      description: 'The current status.',
      schema: statusSchema(components.map(({ id }) => id)),
      example: {
        status: 'operational',
        generated_at: '2026-03-01T12:00:00Z',
        snapshot: { version: '2025Q4', published_at: '2026-02-24T00:00:00Z', synthetic: false },
        components: components.map(({ id }) => ({
          id,
          status: 'operational',
          message: null,
          updated_at: id === api.id ? '2026-03-01T12:00:00Z' : '2026-02-24T00:00:00Z',
        })),
        sources: [
          {
            id: 'quarterly_figures',
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
    handler: (_input, { state }) => statusOf(state, components),
  });
};

const assertReady = ({ draining, snapshot }: ServiceState): void => {
  if (draining) throw new ApiError(errors.service_unavailable, 'The service is shutting down.');
  if (!snapshot) throw new ApiError(errors.service_unavailable, 'No dataset has been loaded yet.');
};

const readyRoute = serviceRoute({
  path: '/ready',
  operationId: 'getReady',
  summary: 'Whether this replica can receive requests',
  description:
    'For load balancers. A replica is ready if it has loaded a dataset and is not shutting down. It stays ready while storage is unreachable, because it can serve cached responses. Needs no API key. Valid requests have no rate limit.',
  key: false,
  limited: false,
  response: {
    description: 'Ready.',
    schema: { title: 'Ready', ...record({ status: { const: 'ok' } }) },
    example: { status: 'ok' },
  },
  async handler(_input, { state }) {
    assertReady(state);
    return { status: 'ok' };
  },
});

const healthRoute = serviceRoute({
  path: '/health',
  operationId: 'getHealth',
  summary: 'Whether this replica is ready and can reach its storage',
  description:
    'For monitors. Like `/ready`, but also checks that storage is reachable. Needs no API key. Valid requests have no rate limit. For the health of each component, see `/status`.',
  key: false,
  limited: false,
  response: {
    description: 'Ready, and storage is reachable.',
    schema: { title: 'Health', ...record({ status: { const: 'ok' } }) },
    example: { status: 'ok' },
  },
  async handler(_input, { state }) {
    assertReady(state);
    await state.pingStorage();
    return { status: 'ok' };
  },
});

export default definePlugin({
  name: 'status',
  version,
  description: 'Health of the service, freshness of its sources, and health checks for load balancers and monitors.',
  routes: (_options, context) => [statusRoute(context), readyRoute, healthRoute],
});

export interface Scope {
  readonly name: string;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
}

const OPTIONS = 'dist/test/adapters/options.test.js';

export const scopes: readonly Scope[] = [
  { name: 'limiter', sources: ['core/limiter/**/*.ts'], tests: ['dist/test/core/limiter/**/*.test.js'] },
  {
    name: 'keys',
    sources: ['core/keys/**/*.ts'],
    tests: [
      'dist/test/core/keys/**/*.test.js',
      'dist/test/core/pipeline/keys-and-limits.test.js',
      'dist/test/core/pipeline/tiers.test.js',
    ],
  },
  {
    name: 'http',
    sources: [
      'core/errors.ts',
      'core/edge/caller-address.ts',
      'core/response/error-response.ts',
      'core/edge/server.ts',
      'core/routes/input.ts',
      'core/routes/handle-route.ts',
      'core/pipeline/authorize.ts',
      'core/pipeline/caller.ts',
      'core/pipeline/endpoint.ts',
      'core/pipeline/identify.ts',
      'core/pipeline/limit.ts',
    ],
    tests: [
      'dist/test/core/errors.test.js',
      'dist/test/core/response/error-response.test.js',
      'dist/test/core/pipeline/koa-habits.test.js',
      'dist/test/core/pipeline/rejections.test.js',
      'dist/test/core/routes/input.test.js',
      'dist/test/core/pipeline/keys-and-limits.test.js',
      'dist/test/core/response/responses.test.js',
      'dist/test/core/edge/caller-address.test.js',
      'dist/test/core/edge/hostile-requests.test.js',
      'dist/test/core/routes/vintages.test.js',
      'dist/test/core/response/csv-responses.test.js',
      'dist/test/core/pipeline/request-ids.test.js',
      'dist/test/core/openapi/**/*.test.js',
      'dist/test/core/registry/**/*.test.js',
      'dist/test/core/observe/**/*.test.js',
      'dist/test/core/edge/admission.test.js',
      'dist/test/core/routes/bounded-work.test.js',
      'dist/test/core/edge/connection-limit.test.js',
      'dist/test/core/edge/head-limits.test.js',
      'dist/test/core/pipeline/request-bodies.test.js',
      'dist/test/core/pipeline/tiers.test.js',
      'dist/test/plugins/metro/endpoints/signals.test.js',
      'dist/test/plugins/metro/endpoints/observations.test.js',
    ],
  },
  {
    name: 'config',
    sources: ['core/config/**/*.ts', 'core/validation/**/*.ts'],
    tests: [
      'dist/test/core/config/**/*.test.js',
      'dist/test/core/validation/**/*.test.js',
      'dist/test/core/redis/config.test.js',
    ],
  },
  { name: 'memory', sources: ['adapters/memory.ts'], tests: ['dist/test/adapters/memory.test.js', OPTIONS] },
  {
    name: 'json',
    sources: ['adapters/json/**/*.ts'],
    tests: [
      'dist/test/adapters/json.test.js',
      'dist/test/adapters/json-open.test.js',
      'dist/test/adapters/json-reload.test.js',
      'dist/test/adapters/json-publish.test.js',
      OPTIONS,
      'dist/test/cli/commands/publish-directory.test.js',
      'dist/test/adapters/conformance/replaced-directory.long.js',
      'dist/test/core/audit/data-audit.test.js',
    ],
  },
  {
    name: 'mongo',
    sources: ['adapters/mongo/**/*.ts'],
    tests: [
      'dist/test/adapters/mongo-bounded.test.js',
      'dist/test/adapters/mongo-catalog.test.js',
      'dist/test/adapters/mongo-replica-locks.test.js',
      'dist/test/adapters/mongo-layout.test.js',
      'dist/test/adapters/mongo-poller.test.js',
      'dist/test/adapters/mongo.test.js',
      'dist/test/adapters/mongo-key-store.test.js',
      OPTIONS,
      'dist/test/adapters/mongo-publishing.test.js',
      'dist/test/adapters/mongo-replicas.test.js',
    ],
  },
];

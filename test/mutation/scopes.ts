/** What is mutated, and the tests that have to notice. */

export interface Scope {
  readonly name: string;
  /** Patterns of files. */
  readonly sources: readonly string[];
  /** Patterns of compiled files. */
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
      'dist/test/core/http/keys-and-limits.test.js',
      'dist/test/core/http/tiers.test.js',
    ],
  },
  {
    name: 'http',
    sources: [
      'core/errors.ts',
      'core/http/caller-address.ts',
      'core/http/error-response.ts',
      'core/http/server.ts',
      'core/http/input.ts',
      'core/http/handle-endpoint.ts',
      'core/middleware.ts',
    ],
    tests: [
      'dist/test/core/errors.test.js',
      'dist/test/core/http/error-response.test.js',
      'dist/test/core/koa-habits.test.js',
      'dist/test/core/http/refusals.test.js',
      'dist/test/core/http/input.test.js',
      'dist/test/core/http/keys-and-limits.test.js',
      'dist/test/core/http/responses.test.js',
      'dist/test/core/http/caller-address.test.js',
      'dist/test/core/http/hostile-requests.test.js',
      'dist/test/core/http/vintages.test.js',
      'dist/test/core/http/csv-responses.test.js',
      'dist/test/core/http/request-ids.test.js',
      'dist/test/core/openapi/**/*.test.js',
      'dist/test/core/registry/**/*.test.js',
      'dist/test/core/metrics/**/*.test.js',
      'dist/test/core/http/admission.test.js',
      'dist/test/core/http/bounded-work.test.js',
      'dist/test/core/http/connection-limit.test.js',
      'dist/test/core/http/head-limits.test.js',
      'dist/test/core/http/request-bodies.test.js',
      'dist/test/core/http/tiers.test.js',
      'dist/test/plugins/metro/signals.test.js',
      'dist/test/plugins/metro/observations.test.js',
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
      'dist/test/conformance/replaced-directory.long.js',
      'dist/test/core/audit/data-audit.test.js',
    ],
  },
  {
    name: 'mongo',
    sources: ['adapters/mongo/**/*.ts'],
    tests: [
      'dist/test/adapters/mongo-bounded.test.js',
      'dist/test/adapters/mongo-catalog.test.js',
      'dist/test/adapters/mongo-version-locks.test.js',
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

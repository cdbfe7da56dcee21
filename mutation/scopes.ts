/** What is mutated, and the tests that have to notice. */

export interface Scope {
  readonly name: string;
  /** Folders, and files without their ending. */
  readonly sources: readonly string[];
  /** Likewise; those that notice most come first. */
  readonly tests: readonly string[];
}

const OPTIONS = 'test/adapters/options.test';

export const scopes: readonly Scope[] = [
  { name: 'limiter', sources: ['core/limiter'], tests: ['test/core/limiter'] },
  {
    name: 'keys',
    sources: ['core/keys'],
    tests: ['test/core/keys', 'test/core/http/keys-and-limits.test'],
  },
  {
    name: 'http',
    sources: [
      'core/errors',
      'core/http/caller-address',
      'core/http/error-response',
      'core/http/host-header',
      'core/http/input',
      'core/http/refusals',
      'core/http/request-target',
      'core/middleware',
    ],
    tests: [
      'test/core/errors.test',
      'test/core/http/error-response.test',
      'test/core/koa-habits.test',
      'test/core/http/refusals.test',
      'test/core/http/input.test',
      'test/core/http/keys-and-limits.test',
      'test/core/http/responses.test',
      'test/core/http/caller-address.test',
      'test/core/http/hostile-requests.test',
      'test/core/http/vintages.test',
      'test/core/http/csv-responses.test',
      'test/core/http/trace-context.test',
      'test/core/openapi',
      'test/core/registry',
      'test/core/metrics',
      'test/core/http/admission.test',
      'test/core/http/connection-limit.test',
      'test/plugins/signals.test',
      'test/plugins/observations.test',
    ],
  },
  { name: 'config', sources: ['core/config'], tests: ['test/core/config', 'test/core/redis-config.test'] },
  { name: 'memory', sources: ['adapters/memory'], tests: ['test/adapters/memory.test', OPTIONS] },
  {
    name: 'json',
    sources: ['adapters/json'],
    tests: [
      'test/adapters/json.test',
      'test/adapters/json-open.test',
      'test/adapters/json-reload.test',
      'test/adapters/json-publish.test',
      OPTIONS,
      'test/conformance/replaced-directory.test',
    ],
  },
  {
    name: 'mongo',
    sources: ['adapters/mongo'],
    tests: [
      'test/adapters/mongo-bounded.test',
      'test/adapters/mongo-catalog.test',
      'test/adapters/mongo-holds.test',
      'test/adapters/mongo-layout.test',
      'test/adapters/mongo-poller.test',
      'test/adapters/mongo.test',
      'test/adapters/mongo-key-store.test',
      OPTIONS,
      'test/adapters/mongo-publishing.test',
      'test/adapters/mongo-replicas.test',
    ],
  },
];

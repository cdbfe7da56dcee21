/** The contract for plugins that identify callers by credentials other than the service's own API keys. */
import type { Clock, Logger } from './runtime.js';
import type { ServiceInfo } from './service.js';

export interface IdentityRequest {
  /** Headers by lower-case name, including `authorization`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The client's address, as determined by the setting `server.trustProxy`. */
  readonly address: string;
}

/** A caller identified by a plugin. Like the owner of an API key, it has its own limit, quotas and usage. */
export interface IdentifiedCaller {
  /** Unique among the plugin's callers. 1 to 256 characters long. It appears in the log. */
  readonly id: string;
  /** The name of a configured tier. Callers with any other tier get a 401. */
  readonly tier: string;
  /** Requests per minute. Default: the limit of the tier. */
  readonly limit?: number;
  /**
   * When the credentials expire, in milliseconds since 1970. The result is cached until then, but for at most a minute.
   * If absent, the result is cached for 5 seconds.
   */
  readonly expiresAt?: number;
}

/**
 * Identifies callers. If a request has no valid API key of the service, plugins are tried in configuration order.
 * Results are cached, including misses.
 */
export interface Identity {
  /** The request headers that the result depends on, in lower case. Default: `authorization` */
  readonly headers?: readonly string[];
  /**
   * Whether the result also depends on the address. If not, requests without any of these headers are not passed to the
   * plugin.
   */
  readonly usesAddress?: boolean;
  /**
   * Returns the caller, or undefined to try the next plugin. An error with status 401 means that the credentials are
   * invalid, and ends the search. After any other error, endpoints that need a key respond with that error. If there is
   * no result within 5 seconds, those endpoints respond with a 503.
   */
  identify(request: IdentityRequest): IdentifiedCaller | undefined | Promise<IdentifiedCaller | undefined>;
}

export interface RunningContext {
  readonly info: ServiceInfo;
  /** Adds the plugin's name to each message. */
  readonly logger: Logger;
  readonly clock: Clock;
  /** Resolves a path in the options relative to the folder of the configuration file. */
  resolvePath(path: string): string;
}

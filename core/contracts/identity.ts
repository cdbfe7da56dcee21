/** The contract for plugins that identify callers by credentials other than the API keys of the service. */
import type { Clock, Logger } from './runtime.js';
import type { ServiceInfo } from './service.js';

/** The parts of a request that can identify its caller. */
export interface IdentityRequest {
  /** The headers by lower-case name, including `authorization`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The address of the client, as the setting `server.trustProxy` finds it. */
  readonly address: string;
}

/** A caller that a plugin has identified. It has its own limit, quotas and usage, like the owner of an API key. */
export interface IdentifiedCaller {
  /** Identifies the caller among all callers of the plugin: 1 to 256 characters. It appears in the log. */
  readonly id: string;
  /** The name of a configured tier. A caller with another tier gets a 401. */
  readonly tier: string;
  /** Requests per minute. Default: the limit of the tier. */
  readonly limit?: number;
  /**
   * When the credentials expire, in milliseconds since 1970. The result is cached until then, but no longer than a
   * minute. Default: it is cached for 5 seconds.
   */
  readonly expiresAt?: number;
}

/**
 * Identifies callers. The plugins are asked in the order of the configuration if a request has no valid API key of the
 * service. Results are cached, even if no caller was found.
 */
export interface Identity {
  /** The headers on which the result depends, in lower case. Default: `authorization` */
  readonly headers?: readonly string[];
  /** Whether the result also depends on the address. Otherwise requests without these headers are not passed on. */
  readonly usesAddress?: boolean;
  /**
   * Returns the caller, or undefined to ask the next plugin. An error with the status 401 ends the search: the
   * credentials are invalid. With any other error, endpoints that need a key respond with that error. If there is no
   * result after 5 seconds, they respond with a 503.
   */
  identify(request: IdentityRequest): IdentifiedCaller | undefined | Promise<IdentifiedCaller | undefined>;
}

/** What a plugin gets from the service in which it runs. */
export interface RunningContext {
  readonly info: ServiceInfo;
  /** Adds the name of the plugin to each message. */
  readonly logger: Logger;
  readonly clock: Clock;
  /** Resolves a relative path from the options against the folder of the configuration file. */
  resolvePath(path: string): string;
}

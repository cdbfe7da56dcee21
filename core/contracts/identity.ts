/** The contract for plugins that identify callers by credentials other than the service's API keys. */
import type { Clock, Logger } from './runtime.js';
import type { ServiceInfo } from './service.js';

export interface IdentityRequest {
  /** Request headers by lower-case name, including `authorization`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> & {
    readonly authorization?: string | undefined;
  };
  /** The IP address of the client. The setting `server.trustProxy` determines whether `X-Forwarded-For` is used. */
  readonly address: string;
}

/**
 * A caller that a plugin has identified. Each caller has a separate limit, quotas and usage, like the owner of an API
 * key.
 */
export interface IdentifiedCaller {
  /**
   * The caller's id, which appears in the log and must be unique among the callers of the plugin. If it is longer than
   * 256 characters, its SHA-256 replaces everything after the first 200 characters.
   */
  readonly id: string;
  /** The name of a configured tier. Callers with an unknown tier get a 401. */
  readonly tier: string;
  /** The caller's rate limit in requests per minute. Default: the limit of the tier. */
  readonly limit?: number | undefined;
  /**
   * When the credentials expire, in milliseconds since 1970. The caller is cached until then, but for at most a minute.
   * Default: 5 seconds from now.
   */
  readonly expiresAt?: number | undefined;
}

/**
 * Identifies callers who send no valid API key of the service. Plugins are tried in configuration order. Results are
 * cached, even if no caller was found.
 */
export interface Identity {
  /** The request headers that `identify` reads, in lower case. Default: `authorization` */
  readonly headers?: readonly string[];
  /**
   * True if `identify` also reads the client address. Otherwise, `identify` is called only for requests with one of the
   * `headers`.
   */
  readonly usesAddress?: boolean;
  /**
   * Returns the caller, or undefined to let the next plugin try. Throw an error with status 401 to reject invalid
   * credentials without trying the next plugin. If the error is an `ApiError`, the response has its message and
   * headers. After any other error, endpoints that need a key respond with that error. They respond with a 503 if there
   * is no result within 5 seconds.
   */
  identify(request: IdentityRequest): IdentifiedCaller | undefined | Promise<IdentifiedCaller | undefined>;
}

export interface RunningContext {
  readonly info: ServiceInfo;
  /** A logger that adds the name of the plugin to each message. */
  readonly logger: Logger;
  readonly clock: Clock;
  /** Resolves a path in the plugin's options relative to the folder of the configuration file. */
  resolvePath(path: string): string;
}

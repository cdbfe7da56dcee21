/** Settings that can change while the service is running. All other settings need a restart. */
import type { LoadedConfig } from '../config/load.js';
import type { AuthConfig, Config, TierConfig } from '../config/schema.js';
import { Tiers } from '../config/tiers.js';
import type { Logger } from '../contracts/runtime.js';
import { differences, formatPath, type Path } from '../validation/path.js';

/**
 * The paths of settings that can change while the service is running. TIER is a placeholder for a tier name. API keys
 * are not listed, because key changes take effect without a reload.
 */
export const RELOADED = [
  'log.level',
  'limits.requestsPerMinute',
  'auth.tiers.TIER.requestsPerMinute',
  'auth.tiers.TIER.requestsPerDay',
  'auth.tiers.TIER.requestsPerMonth',
] as const;

const PATHS = RELOADED.map((path) => path.split('.'));

const isReloaded = (path: Path): boolean =>
  PATHS.some((names) => names.length === path.length && names.every((name, i) => name === 'TIER' || name === path[i]));

/** A reload can change the limits of existing tiers. New tiers and changed endpoints need a restart. */
const withLimitsOf = (started: AuthConfig['tiers'], now: AuthConfig['tiers']): AuthConfig['tiers'] => {
  if (Array.isArray(started) || Array.isArray(now)) return started;
  const terms = now as Readonly<Record<string, TierConfig>>;
  return Object.fromEntries(
    Object.entries(started).map(([name, tier]) => {
      const { endpoints } = tier;
      return [name, terms[name] ? { ...terms[name], ...(endpoints && { endpoints }) } : tier];
    }),
  );
};

const isModule = (value: object): boolean => 'use' in value;

export class RunningSettings {
  readonly #started: Config;
  readonly #logger: Logger;
  #config: Config;
  /** A reload replaces the object `tiers`, so do not store a reference to it. */
  tiers: Tiers;

  constructor({ config }: LoadedConfig, logger: Logger) {
    this.#started = config;
    this.#config = config;
    this.tiers = new Tiers(config.auth, config.limits.requestsPerMinute);
    this.#logger = logger;
  }

  apply({ config }: LoadedConfig): readonly string[] {
    const changed = differences(this.#config, config, isModule)
      .filter(isReloaded)
      .map((path) => formatPath(path));
    const afterRestart = differences(this.#started, config, isModule)
      .filter((path) => !isReloaded(path))
      .map((path) => formatPath(path));
    this.#config = config;
    const tiers = withLimitsOf(this.#started.auth.tiers, config.auth.tiers);
    this.tiers = new Tiers({ ...this.#started.auth, tiers }, config.limits.requestsPerMinute);
    this.#logger.setLevel?.(config.log.level);
    const details = { changed, ...(afterRestart.length > 0 && { afterRestart }) };
    if (afterRestart.length > 0) this.#logger.warn(details, 'configuration reloaded; some changes need a restart');
    else this.#logger.info(details, 'configuration reloaded');
    return afterRestart;
  }
}

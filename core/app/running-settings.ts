/** The settings that a running service takes over from a configuration that was read again, and which it does not. */
import { isDeepStrictEqual } from 'node:util';
import type { LoadedConfig } from '../config/load.js';
import type { AuthConfig, Config, TierConfig } from '../config/schema.js';
import { Tiers } from '../config/tiers.js';
import type { Logger } from '../contracts/runtime.js';
import { isObject } from '../validation/json.js';

/** Settings that a reload changes; TIER stands for any name. Keys need no reload, since services follow their store. */
export const RELOADED = [
  'log.level',
  'limits.requestsPerMinute',
  'auth.tiers.TIER.requestsPerMinute',
  'auth.tiers.TIER.requestsPerDay',
  'auth.tiers.TIER.requestsPerMonth',
] as const;

const TAKEN_OVER = new RegExp(
  `^(${RELOADED.map((path) => path.replaceAll('.', '\\.').replace('TIER', '[^.]+')).join('|')})$`,
);

/** The tiers as at the start, with the numbers that another configuration has for them. */
const withNumbersOf = (started: AuthConfig['tiers'], now: AuthConfig['tiers']): AuthConfig['tiers'] => {
  if (Array.isArray(started) || Array.isArray(now)) return started;
  const terms = now as Readonly<Record<string, TierConfig>>;
  return Object.fromEntries(
    Object.entries(started).map(([name, tier]) => {
      const { endpoints } = tier;
      return [name, terms[name] ? { ...terms[name], ...(endpoints && { endpoints }) } : tier];
    }),
  );
};

/** The paths of all settings that differ; lists and modules count as one setting. */
const differences = (before: unknown, after: unknown, path = ''): string[] => {
  const inside = isObject(before) && isObject(after) && !('use' in after);
  if (!inside) return isDeepStrictEqual(before, after) ? [] : [path];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => differences(before[name], after[name], path === '' ? name : `${path}.${name}`));
};

export class RunningSettings {
  readonly #started: Config;
  readonly #logger: Logger;
  #config: Config;
  /** How much callers may send. Each reload puts a new object here. */
  tiers: Tiers;

  constructor({ config }: LoadedConfig, logger: Logger) {
    this.#started = config;
    this.#config = config;
    this.tiers = new Tiers(config.auth, config.limits.requestsPerMinute);
    this.#logger = logger;
  }

  /** Takes over what can change, and logs both that and what waits for a restart. */
  apply({ config }: LoadedConfig): void {
    const changed = differences(this.#config, config).filter((path) => TAKEN_OVER.test(path));
    const afterRestart = differences(this.#started, config).filter((path) => !TAKEN_OVER.test(path));
    this.#config = config;
    const tiers = withNumbersOf(this.#started.auth.tiers, config.auth.tiers);
    this.tiers = new Tiers({ ...this.#started.auth, tiers }, config.limits.requestsPerMinute);
    this.#logger.setLevel?.(config.log.level);
    const details = { changed, ...(afterRestart.length > 0 && { afterRestart }) };
    if (afterRestart.length > 0)
      this.#logger.warn(details, 'configuration read again; some changes wait for a restart');
    else this.#logger.info(details, 'configuration read again');
  }
}

import { dirname, resolve } from 'node:path';
import { OperatorError } from '../errors.js';
import { fileErrorReason } from '../util/error-reason.js';
import { readRegular } from '../util/read-file.js';
import { compileSchema } from '../validation/compile-schema.js';
import { describeErrors, type Override, placeOf, suggest } from '../validation/describe-errors.js';
import { findJsonError, formatJsonError, isJsonObject, withoutMark } from '../validation/json.js';
import { networkError } from '../validation/network.js';
import { formatPath, type Path, valueAt } from '../validation/path.js';
import { ENCODE_CREDENTIALS } from '../validation/secrets.js';
import {
  applyEnvironment,
  type Draft,
  type Environment,
  expandModules,
  type NamedVariable,
  schemaAt,
  strayVariables,
  withFiles,
} from './overrides.js';
import { type Config, configSchema, type GivenConfig } from './schema.js';
import { tierNames } from './tiers.js';

export interface ConfigNames {
  /**
   * The prefix of environment variables, such as `METRO`. With this prefix, `METRO_CONFIG` sets the path of the
   * configuration file, and `METRO__LOG__LEVEL` sets `log.level`.
   */
  readonly prefix: string;
  readonly embedded: string;
  readonly variables: readonly NamedVariable[];
}

export interface LoadedConfig {
  readonly config: Config;
  /** The path of the configuration file, or a description for messages if the configuration comes from code. */
  readonly path: string;
  readonly folder: string;
  readonly embedded: boolean;
  readonly overrides: readonly Override[];
}

export interface LoadOptions {
  readonly path?: string | undefined;
  readonly given?: GivenConfig | undefined;
  readonly defaults?: Draft;
  readonly env?: Environment;
  /** Loads the modules, so that one error lists the problems of the configuration and of the modules. */
  readonly moduleErrors?: (draft: Draft, folder: string, overrides: readonly Override[]) => Promise<readonly string[]>;
}

const MAX_CONFIG_BYTES = 16 * 2 ** 20;

const readDraft = async (path: string, named: string): Promise<Draft> => {
  let text: string;
  try {
    text = withoutMark(await readRegular(path, MAX_CONFIG_BYTES));
  } catch (cause) {
    throw new OperatorError(`The configuration ${path} (${named}) cannot be read: ${fileErrorReason(cause)}.`, [], {
      cause,
    });
  }
  const error = findJsonError(text);
  if (error) throw new OperatorError(`The configuration ${path} is not JSON:`, [formatJsonError(error)]);
  const draft: unknown = JSON.parse(text);
  if (!isJsonObject(draft)) {
    throw new OperatorError(`The configuration ${path} must be an object: {"adapter": ..., "plugins": [...]}.`);
  }
  return draft;
};

const IN_CODE = 'in code';

/** Copies the object, because defaults are filled in later. */
const draftOf = (given: GivenConfig): Draft => {
  try {
    return JSON.parse(JSON.stringify(given)) as Draft;
  } catch (cause) {
    throw new OperatorError('The configuration in code must be plain data that JSON can represent.', [], { cause });
  }
};

/** Finds errors that the schema cannot express. Values that do not conform to the schema are skipped. */
const contradictions = (draft: Draft, overrides: readonly Override[], isValid: boolean): string[] => {
  const errors: string[] = [];
  const report = (path: Path, text: string) => errors.push(`${placeOf(formatPath(path), overrides)}: ${text}`);
  const valid = <T>(...path: string[]): T | undefined => {
    const value = valueAt(draft, path);
    return isValid || compileSchema(schemaAt(path)!)(value) ? (value as T) : undefined;
  };
  const anonymous = valid<string | null>('auth', 'anonymous') ?? null;
  const tiers = tierNames(draft['auth']);
  if (anonymous !== null && tiers.length > 0 && !tiers.includes(anonymous)) {
    report(['auth', 'anonymous'], `"${anonymous}" is not in auth.tiers; ${suggest(anonymous, tiers)}`);
  }
  const port = valid<number>('metrics', 'port') ?? 0;
  const hosts = [valid<string>('metrics', 'host'), valid<string>('server', 'host')];
  const isOneHost = hosts[0] === hosts[1] || hosts.some((host) => host === '0.0.0.0' || host === '::');
  if (port > 0 && port === valid('server', 'port') && isOneHost) {
    report(['metrics', 'port'], `${port} is already the API port (server.port); use a different one`);
  }
  const headersMs = valid<number>('server', 'headersTimeoutMs') ?? 0;
  const requestMs = valid<number>('server', 'requestTimeoutMs') ?? headersMs;
  if (headersMs > requestMs) {
    report(['server', 'headersTimeoutMs'], `${headersMs} is longer than server.requestTimeoutMs (${requestMs})`);
  }
  const url = valid<string>('redis', 'url');
  if (url !== undefined && !URL.canParse(url)) {
    report(['redis', 'url'], `is not a valid URL (not shown because it may contain a password); ${ENCODE_CREDENTIALS}`);
  }
  const networks = valueAt(draft, ['server', 'trustProxy']);
  for (const [i, network] of (Array.isArray(networks) ? networks : []).entries()) {
    const problem = typeof network === 'string' && network !== '' ? networkError(network) : undefined;
    if (problem) report(['server', 'trustProxy', i], `"${network}" is not allowed; ${problem}`);
  }
  return errors;
};

export const configLoader =
  ({ prefix, embedded, variables }: ConfigNames) =>
  /** @throws OperatorError with all errors, each with its path, the allowed values and a suggestion */
  async ({ path: option, given, defaults, env = process.env, moduleErrors }: LoadOptions): Promise<LoadedConfig> => {
    const variable = `${prefix}_CONFIG`;
    const path = given ? IN_CODE : resolve(option ?? (env[variable] || embedded));
    const folder = given ? process.cwd() : dirname(path);
    const named = option !== undefined ? 'named by --config' : env[variable] ? `named by ${variable}` : 'embedded';
    const draft = { ...defaults, ...(given ? draftOf(given) : await readDraft(path, named)) };

    const validate = compileSchema<Config>(configSchema, { useDefaults: true });
    expandModules(draft);
    // Defaults are filled in first, because an environment variable can override part of a default value.
    validate(draft);
    const { overrides, errors } = applyEnvironment(draft, await withFiles(env, prefix, variables), prefix, variables);
    errors.push(...strayVariables(env, prefix));

    const isValid = validate(draft);
    if (!isValid) errors.push(...describeErrors(validate.errors!, draft, '', overrides, configSchema));
    errors.push(...contradictions(draft, overrides, isValid));
    if (errors.length > 0) {
      // The modules are loaded even though the configuration is invalid, so that one message lists the errors of both.
      errors.push(...((await moduleErrors?.(draft, folder, overrides)) ?? []));
      throw new OperatorError(
        `The configuration ${path} has ${errors.length === 1 ? 'an error' : `${errors.length} errors`}:`,
        errors,
      );
    }
    const { $schema: _, ...config } = draft as unknown as Config & { $schema?: string };
    return { config, path, folder, embedded: path === embedded, overrides };
  };

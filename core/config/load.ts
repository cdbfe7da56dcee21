/** Loads a configuration: which file, the environment over it, every fault at once. */

import { dirname, resolve } from 'node:path';
import { OperatorError } from '../errors.js';
import { fileErrorReason } from '../util/error-reason.js';
import { readRegular } from '../util/regular.js';
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

/** What a product built on the framework calls things. */
export interface ConfigNames {
  /** Begins its environment variables: `PREFIX_CONFIG` names the file, `PREFIX__SECTION__NAME` a setting. */
  readonly prefix: string;
  /** The configuration used when no other is named: an absolute path. */
  readonly embedded: string;
  /** Further variables, without the prefix. */
  readonly variables: readonly NamedVariable[];
}

export interface LoadedConfig {
  readonly config: Config;
  /** The absolute path of the file; a text for messages if the configuration was given in code. */
  readonly path: string;
  /** Where relative paths in it start. */
  readonly folder: string;
  /** Whether it is the product's own configuration. */
  readonly embedded: boolean;
  readonly overrides: readonly Override[];
}

export interface LoadOptions {
  /** As given on the command line: relative to the working directory. */
  readonly path?: string | undefined;
  /** In the place of a file. */
  readonly given?: GivenConfig | undefined;
  /** Default: that of this process. */
  readonly env?: Environment;
  /** Finds the errors of the modules, so that they are reported with those of an invalid configuration. */
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
  const fault = findJsonError(text);
  if (fault) {
    throw new OperatorError(`The configuration ${path} is not JSON.`, [formatJsonError(fault)]);
  }
  const draft: unknown = JSON.parse(text);
  if (!isJsonObject(draft)) {
    throw new OperatorError(`The configuration ${path} must be an object: {"adapter": ..., "plugins": [...]}.`);
  }
  return draft;
};

const IN_CODE = 'given in code';

/** A copy, into which defaults may be filled. */
const draftOf = (given: GivenConfig): Draft => {
  try {
    return JSON.parse(JSON.stringify(given)) as Draft;
  } catch (cause) {
    throw new OperatorError('The configuration given in code is not plain data, as JSON would have it.', [], { cause });
  }
};

/**
 * What the schema cannot say. A value that the schema refuses has its fault already, and is compared with nothing.
 * @param draft with the defaults filled in
 * @param isValid whether the schema refuses none of its values, so that none has to be judged by itself
 */
const contradictions = (draft: Draft, overrides: readonly Override[], isValid: boolean): string[] => {
  const faults: string[] = [];
  const fault = (path: Path, text: string) => faults.push(`${placeOf(formatPath(path), overrides)}: ${text}`);
  const valid = <T>(...path: string[]): T | undefined => {
    const value = valueAt(draft, path);
    return isValid || compileSchema(schemaAt(path)!)(value) ? (value as T) : undefined;
  };
  const anonymous = valid<string | null>('auth', 'anonymous') ?? null;
  const tiers = tierNames(draft['auth']);
  if (anonymous !== null && tiers.length > 0 && !tiers.includes(anonymous)) {
    fault(['auth', 'anonymous'], `"${anonymous}" is no tier of auth.tiers; ${suggest(anonymous, tiers)}`);
  }
  const port = valid<number>('metrics', 'port') ?? 0;
  const hosts = [valid<string>('metrics', 'host'), valid<string>('server', 'host')];
  const isOneHost = hosts[0] === hosts[1] || hosts.some((host) => host === '0.0.0.0' || host === '::');
  if (port > 0 && port === valid('server', 'port') && isOneHost) {
    fault(['metrics', 'port'], `${port} is not allowed; it must not be server.port, which the API listens on`);
  }
  const headersMs = valid<number>('server', 'headersTimeoutMs') ?? 0;
  const requestMs = valid<number>('server', 'requestTimeoutMs') ?? headersMs;
  if (headersMs > requestMs) {
    fault(
      ['server', 'headersTimeoutMs'],
      `${headersMs} is not allowed; it must not be above server.requestTimeoutMs, ${requestMs}`,
    );
  }
  const url = valid<string>('redis', 'url');
  if (url !== undefined && !URL.canParse(url)) {
    fault(['redis', 'url'], `cannot be read as a URL (not shown, it may hold a password); ${ENCODE_CREDENTIALS}`);
  }
  const networks = valueAt(draft, ['server', 'trustProxy']);
  for (const [i, network] of (Array.isArray(networks) ? networks : []).entries()) {
    const problem = typeof network === 'string' && network !== '' ? networkError(network) : undefined;
    if (problem) fault(['server', 'trustProxy', i], `"${network}" is not allowed; ${problem}`);
  }
  return faults;
};

/** Makes a product's `loadConfig`. */
export const configLoader =
  ({ prefix, embedded, variables }: ConfigNames) =>
  /**
   * The file of `path`, else of `PREFIX_CONFIG`, else the embedded one, with the environment's values over it.
   * @throws OperatorError with all faults, each with its path, what is allowed and the nearest right name
   */
  async ({ path: option, given, env = process.env, moduleErrors }: LoadOptions): Promise<LoadedConfig> => {
    const variable = `${prefix}_CONFIG`;
    const path = given ? IN_CODE : resolve(option ?? (env[variable] || embedded));
    const folder = given ? process.cwd() : dirname(path);
    const named = option !== undefined ? 'named by --config' : env[variable] ? `named by ${variable}` : 'embedded';
    const draft = given ? draftOf(given) : await readDraft(path, named);

    const validate = compileSchema<Config>(configSchema, { useDefaults: true });
    expandModules(draft);
    // Once for the defaults alone: variables may change values inside them.
    validate(draft);
    const { overrides, faults } = applyEnvironment(draft, await withFiles(env, prefix, variables), prefix, variables);
    faults.push(...strayVariables(env, prefix));

    const isValid = validate(draft);
    if (!isValid) faults.push(...describeErrors(validate.errors!, draft, '', overrides));
    faults.push(...contradictions(draft, overrides, isValid));
    if (faults.length > 0) {
      // A configuration without faults of its own gets those of its modules when they are loaded.
      faults.push(...((await moduleErrors?.(draft, folder, overrides)) ?? []));
      throw new OperatorError(
        `The configuration ${path} has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:`,
        faults,
      );
    }
    // `$schema` is for editors.
    const { $schema: _, ...config } = draft as unknown as Config & { $schema?: string };
    return { config, path, folder, embedded: path === embedded, overrides };
  };

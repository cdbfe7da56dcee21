/** Loads a configuration: which file, the environment over it, every fault at once. */

import { dirname, resolve } from 'node:path';
import { OperatorError } from '../errors.js';
import { fileErrorReason } from '../files/error-reason.js';
import { readRegular } from '../files/regular.js';
import { compileSchema } from '../validation/compile-schema.js';
import { describeFaults, type Override, suggest } from '../validation/faults.js';
import { findJsonFault } from '../validation/json.js';
import { networkFault } from '../validation/network.js';
import {
  applyEnvironment,
  type Draft,
  type Environment,
  expandModules,
  type NamedVariable,
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
  /** What is wrong with the modules that a draft names, where its other faults allow to look. */
  readonly moduleFaults?: (draft: Draft, folder: string, overrides: readonly Override[]) => Promise<readonly string[]>;
}

export interface LoadedConfig {
  readonly config: Config;
  /** Of the file, absolute; for messages alone where the configuration was given in code. */
  readonly path: string;
  /** Where relative paths in it start. */
  readonly folder: string;
  /** Whether it is the one that comes with the product. */
  readonly embedded: boolean;
  readonly overrides: readonly Override[];
}

export interface LoadOptions {
  /** As given on the command line: relative to the working directory. */
  readonly path?: string | undefined;
  /** In the place of a file. */
  readonly given?: GivenConfig | undefined;
  readonly env: Environment;
}

const readDraft = async (path: string, named: string): Promise<Draft> => {
  let text: string;
  try {
    text = (await readRegular(path)).replace(/^\uFEFF/, '');
  } catch (cause) {
    throw new OperatorError(`The configuration ${path} (${named}) cannot be read: ${fileErrorReason(cause)}.`, [], {
      cause,
    });
  }
  const fault = findJsonFault(text);
  if (fault) {
    throw new OperatorError(`The configuration ${path} is not JSON.`, [
      `line ${fault.line}, column ${fault.column}: ${fault.problem}`,
    ]);
  }
  const draft: unknown = JSON.parse(text);
  if (typeof draft !== 'object' || draft === null || Array.isArray(draft)) {
    throw new OperatorError(`The configuration ${path} must be an object: {"adapter": ..., "plugins": [...]}.`);
  }
  return draft as Draft;
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

/** What the schema cannot say. */
const contradictions = ({ server, metrics, auth }: Config): string[] => {
  const faults: string[] = [];
  const tiers = tierNames(auth);
  if (auth.anonymous !== null && !tiers.includes(auth.anonymous)) {
    faults.push(`auth.anonymous: "${auth.anonymous}" is no tier of auth.tiers; ${suggest(auth.anonymous, tiers)}`);
  }
  const ofAll = (host: string) => host === '0.0.0.0' || host === '::';
  if (metrics && metrics.port === server.port && metrics.port > 0) {
    if (metrics.host === server.host || ofAll(metrics.host) || ofAll(server.host)) {
      faults.push(`metrics.port: ${metrics.port} is not allowed; it must not be server.port, which the API listens on`);
    }
  }
  if (server.headersTimeoutMs > server.requestTimeoutMs) {
    faults.push(
      `server.headersTimeoutMs: ${server.headersTimeoutMs} is not allowed; it must not be above server.requestTimeoutMs, ${server.requestTimeoutMs}`,
    );
  }
  if (typeof server.trustProxy !== 'number') {
    for (const [i, network] of server.trustProxy.entries()) {
      const fault = networkFault(network);
      if (fault) faults.push(`server.trustProxy[${i}]: "${network}" is not allowed; ${fault}`);
    }
  }
  return faults;
};

/** Makes a product's `loadConfig`. */
export const configLoader =
  ({ prefix, embedded, variables, moduleFaults }: ConfigNames) =>
  /**
   * The file of `path`, else of `PREFIX_CONFIG`, else the embedded one, with the environment's values over it.
   * @throws OperatorError with all faults, each with its path, what is allowed and the nearest right name
   */
  async ({ path: option, given, env }: LoadOptions): Promise<LoadedConfig> => {
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

    if (!validate(draft)) faults.push(...describeFaults(validate.errors!, draft, '', overrides));
    else faults.push(...contradictions(draft));
    if (faults.length > 0) {
      // So that all faults are told at once. Where there are none here, whoever loads the modules tells theirs.
      faults.push(...((await moduleFaults?.(draft, folder, overrides)) ?? []));
      throw new OperatorError(
        `The configuration ${path} has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:`,
        faults,
      );
    }
    // `$schema` is for editors.
    const { $schema: _, ...config } = draft as unknown as Config & { $schema?: string };
    return { config, path, folder, embedded: path === embedded, overrides };
  };

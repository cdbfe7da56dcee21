/** Loads a configuration: which file, the environment over it, every fault at once. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { OperatorError } from '../errors.js';
import { fileErrorReason } from '../file-error.js';
import { compileSchema } from '../schema.js';
import { describeFaults } from './faults.js';
import { findJsonFault } from './json-fault.js';
import {
  applyEnvironment,
  type Draft,
  type Environment,
  expandModules,
  type NamedVariable,
  type Override,
  strayVariables,
} from './overrides.js';
import { type Config, configSchema } from './schema.js';

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
  /** Of the file, absolute. */
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
  readonly env: Environment;
}

const readDraft = async (path: string, named: string): Promise<Draft> => {
  let text: string;
  try {
    text = (await readFile(path, 'utf8')).replace(/^\uFEFF/, '');
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

/** What the schema cannot say. */
const contradictions = ({ server, metrics }: Config): string[] => {
  const faults: string[] = [];
  if (server.headersTimeoutMs > server.requestTimeoutMs) {
    faults.push(
      `server.headersTimeoutMs: ${server.headersTimeoutMs} is not allowed; it must not be above server.requestTimeoutMs, ${server.requestTimeoutMs}`,
    );
  }
  if (metrics && server.workers !== 1) {
    faults.push(
      `server.workers: ${server.workers} is not allowed with metrics, since each process counts for itself; set it to 1 and run replicas, or metrics to null`,
    );
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
  async ({ path: option, env }: LoadOptions): Promise<LoadedConfig> => {
    const variable = `${prefix}_CONFIG`;
    const path = resolve(option ?? (env[variable] || embedded));
    const named = option !== undefined ? 'named by --config' : env[variable] ? `named by ${variable}` : 'embedded';
    const draft = await readDraft(path, named);

    const validate = compileSchema<Config>(configSchema, { useDefaults: true });
    expandModules(draft);
    // Once for the defaults alone: variables may change values inside them.
    validate(draft);
    const { overrides, faults } = applyEnvironment(draft, env, prefix, variables);
    faults.push(...strayVariables(env, prefix));

    if (!validate(draft)) faults.push(...describeFaults(validate.errors!, draft, '', overrides));
    else faults.push(...contradictions(draft));
    if (faults.length > 0) {
      throw new OperatorError(
        `The configuration ${path} has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:`,
        faults,
      );
    }
    // `$schema` is for editors.
    const { $schema: _, ...config } = draft as unknown as Config & { $schema?: string };
    return { config, path, folder: dirname(path), embedded: path === embedded, overrides };
  };

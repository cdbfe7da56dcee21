import type { Plugin } from '../contracts/plugin.js';
import { OperatorError } from '../errors.js';
import { listFrom } from './check-members.js';

/** A plugin with its options. `at` is where the configuration lists it. */
export interface LoadedPlugin {
  readonly plugin: Plugin;
  readonly options: unknown;
  readonly at: string;
  /** Whether other plugins' mounts replace this plugin's mounts at the same paths. */
  readonly isDefault?: boolean;
}

export const label = (plugin: Plugin): string => `plugin "${plugin.name}" ${plugin.version}`;

export class Registration {
  readonly errors: string[] = [];
  /** False if errors in plugins might have kept endpoints out of the registry. */
  isComplete: boolean;
  readonly #owners = new Map<string, Plugin>();

  constructor(isComplete: boolean) {
    this.isComplete = isComplete;
  }

  report(plugin: Plugin, errors: readonly string[], about = ''): void {
    this.errors.push(...errors.map((error) => `${label(plugin)}: ${about}${error}`));
  }

  /** Reports errors that keep an endpoint out of the registry. */
  reportLack(plugin: Plugin, errors: readonly string[], about?: string): void {
    this.report(plugin, errors, about);
    this.isComplete = false;
  }

  /**
   * Claims a declaration that must be unique. Reports an error if a plugin has already claimed it.
   * @param what identifies the declaration
   */
  claim(plugin: Plugin, what: string, described = what): void {
    const other = this.#owners.get(what);
    if (other) this.errors.push(`${label(plugin)} and ${label(other)} both declare ${described}`);
    else this.#owners.set(what, plugin);
  }

  /**
   * Calls a plugin function that returns a list. If it throws, the error is reported and the result is an empty list.
   */
  listOf<T>({ plugin, at }: LoadedPlugin, name: string, declare: () => readonly T[] | undefined): readonly T[] {
    try {
      return listFrom(name, declare());
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const details = error instanceof OperatorError ? error.errors : [];
      this.errors.push(`${at}: ${label(plugin)}: ${name} failed: ${message}`);
      this.errors.push(...details.map((detail) => `${at}: ${detail}`));
      this.isComplete = false;
      return [];
    }
  }
}

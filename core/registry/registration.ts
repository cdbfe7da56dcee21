/** Collects the errors found while checking plugins, and records which plugin has declared what. */
import type { Plugin } from '../contracts/plugin.js';
import { OperatorError } from '../errors.js';
import { listFrom } from './check-members.js';

/** A plugin with its options, and the place in the configuration that names it. */
export interface LoadedPlugin {
  readonly plugin: Plugin;
  readonly options: unknown;
  readonly at: string;
  /** Whether mounts of other plugins replace this plugin's mounts with the same path. */
  readonly isDefault?: boolean;
}

export const label = (plugin: Plugin): string => `plugin "${plugin.name}" ${plugin.version}`;

export class Registration {
  readonly errors: string[] = [];
  /** False if the registry may lack endpoints of plugins that have errors. */
  isComplete: boolean;
  readonly #owners = new Map<string, Plugin>();

  constructor(isComplete: boolean) {
    this.isComplete = isComplete;
  }

  report(plugin: Plugin, errors: readonly string[], about = ''): void {
    this.errors.push(...errors.map((error) => `${label(plugin)}: ${about}${error}`));
  }

  /** Reports errors in an endpoint, which the registry will therefore lack. */
  reportLack(plugin: Plugin, errors: readonly string[], about?: string): void {
    this.report(plugin, errors, about);
    this.isComplete = false;
  }

  /**
   * Ensures that only one plugin declares something. If another plugin has already declared it, an error is reported.
   * @param what identifies what is declared
   */
  claim(plugin: Plugin, what: string, described = what): void {
    const other = this.#owners.get(what);
    if (other) this.errors.push(`${label(plugin)} and ${label(other)} both declare ${described}`);
    else this.#owners.set(what, plugin);
  }

  /**
   * Calls a plugin's function that returns a list. If the function throws, reports the error and returns an empty list.
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

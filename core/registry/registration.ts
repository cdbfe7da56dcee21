/** State of the checks of plugins: the errors, and which plugin declared what. */
import type { Plugin } from '../contracts/plugin.js';
import { OperatorError } from '../errors.js';
import { listFrom } from './check-members.js';

/** A plugin with its options, and where the configuration names it. */
export interface LoadedPlugin {
  readonly plugin: Plugin;
  readonly options: unknown;
  readonly at: string;
  /** Mounts of other plugins replace its mounts of the same path. */
  readonly isDefault?: boolean;
}

export const label = (plugin: Plugin): string => `plugin "${plugin.name}" ${plugin.version}`;

export class Registration {
  readonly errors: string[] = [];
  /** False: the registry may lack endpoints of plugins with errors. */
  isComplete: boolean;
  readonly #owners = new Map<string, Plugin>();

  constructor(isComplete: boolean) {
    this.isComplete = isComplete;
  }

  report(plugin: Plugin, errors: readonly string[], about = ''): void {
    this.errors.push(...errors.map((error) => `${label(plugin)}: ${about}${error}`));
  }

  /** Reports errors of an endpoint that the registry will lack. */
  reportLack(plugin: Plugin, errors: readonly string[], about?: string): void {
    this.report(plugin, errors, about);
    this.isComplete = false;
  }

  /**
   * Makes a plugin the only one that may declare a thing.
   * @param what identifies the thing
   */
  claim(plugin: Plugin, what: string, described = what): void {
    const other = this.#owners.get(what);
    if (other) this.errors.push(`${label(plugin)} and ${label(other)} both declare ${described}`);
    else this.#owners.set(what, plugin);
  }

  /** Calls a function of a plugin that returns a list. Reports an error that it throws, and returns an empty list. */
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

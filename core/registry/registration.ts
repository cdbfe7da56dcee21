/** What all passes over the plugins share: the errors found, and which plugin has declared what. */
import type { Plugin } from '../contracts/plugin.js';
import { OperatorError } from '../errors.js';
import { listFrom } from './check-members.js';

/** A plugin with its options, and where the configuration names it. */
export interface LoadedPlugin {
  readonly plugin: Plugin;
  readonly options: unknown;
  readonly at: string;
  /** Its mounts give way to mounts of the same path by other plugins. */
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

  /** Reports an endpoint that the registry then lacks. */
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

  /** Calls a function of a plugin that returns a list. If it throws, that is reported and the list is empty. */
  listOf<T>({ plugin, at }: LoadedPlugin, name: string, declare: () => readonly T[] | undefined): readonly T[] {
    try {
      return listFrom(name, declare());
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const details = error instanceof OperatorError ? error.faults : [];
      this.errors.push(`${at}: ${label(plugin)}: ${name} failed: ${message}`);
      this.errors.push(...details.map((detail) => `${at}: ${detail}`));
      this.isComplete = false;
      return [];
    }
  }
}

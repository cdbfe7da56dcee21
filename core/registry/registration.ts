import type { Plugin } from '../contracts/plugin.js';
import { OperatorError } from '../errors.js';
import { listFrom } from './check-members.js';

export interface LoadedPlugin {
  readonly plugin: Plugin;
  readonly options: unknown;
  readonly at: string;
  /** If true, a mount of another plugin replaces a mount of this plugin at the same path. */
  readonly isDefault?: boolean;
  /**
   * True if the tests of this package check the declarations of a plugin. If true, the service does not check them at
   * startup.
   */
  readonly isTested?: boolean;
}

export const label = (plugin: Plugin): string => `plugin "${plugin.name}" ${plugin.version}`;

export class Registration {
  readonly errors: string[] = [];
  /** False if an endpoint might be missing because of an error in a plugin. */
  isComplete: boolean;
  readonly #owners = new Map<string, Plugin>();

  constructor(isComplete: boolean) {
    this.isComplete = isComplete;
  }

  report(plugin: Plugin, errors: readonly string[], about = ''): void {
    this.errors.push(...errors.map((error) => `${label(plugin)}: ${about}${error}`));
  }

  reportLack(plugin: Plugin, errors: readonly string[]): void {
    this.report(plugin, errors);
    this.isComplete = false;
  }

  claim(plugin: Plugin, what: string, described = what): void {
    const other = this.#owners.get(what);
    if (other) this.errors.push(`${label(plugin)} and ${label(other)} both declare ${described}`);
    else this.#owners.set(what, plugin);
  }

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

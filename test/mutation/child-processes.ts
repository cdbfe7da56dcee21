/** A root hook of mocha that activates the current mutant in child processes and worker threads too. */

declare const __stryker__: { readonly activeMutant?: string };

export const mochaHooks = {
  beforeAll(): void {
    const { activeMutant } = __stryker__;
    if (activeMutant === undefined) delete process.env['__STRYKER_ACTIVE_MUTANT__'];
    else process.env['__STRYKER_ACTIVE_MUTANT__'] = activeMutant;
  },
};

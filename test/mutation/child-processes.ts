/** A root hook of mocha: the processes and threads that a test starts have the active mutant too. */

declare const __stryker__: { readonly activeMutant?: string };

export const mochaHooks = {
  beforeAll(): void {
    const { activeMutant } = __stryker__;
    if (activeMutant === undefined) delete process.env['__STRYKER_ACTIVE_MUTANT__'];
    else process.env['__STRYKER_ACTIVE_MUTANT__'] = activeMutant;
  },
};

import type { Snapshot } from '../../../../core/contracts/storage.js';
import type { BrokenAdapter } from './breaking.js';

const invalid = (rule: string) => `an invalid dataset in the store ${rule}`;
const REPLACED = invalid(
  'makes open() reject with invalid_dataset, and publish() replaces it and calls onRepair() once',
);
const REPORTED = invalid('is reported by open adapters, which serve the previous rows until it is replaced');

const AGAIN = invalid('makes open() reject only until another adapter has replaced it');

export const repairBugs: readonly BrokenAdapter[] = [
  {
    that: 'opens a store with an invalid dataset',
    fails: [REPLACED],
    files: true,
    fault: ({ open }) => ({ open: () => open().catch(() => {}) }),
  },
  {
    that: 'replaces an invalid dataset without calling onRepair()',
    fails: [REPLACED],
    files: true,
    fault: ({ publish }) => ({
      publish: (dataset, { onRepair: _, ...options } = {}) => publish!(dataset, options),
    }),
  },
  {
    that: 'does not follow other adapters after it has replaced an invalid dataset',
    fails: [AGAIN],
    files: true,
    fault(adapter) {
      const { open, publish, snapshot } = adapter;
      let [isRejected, held] = [false, undefined as Snapshot | undefined];
      return {
        async open() {
          isRejected = true;
          await open();
          isRejected = false;
        },
        async publish(...given) {
          await publish!(...given);
          if (isRejected) held = snapshot();
        },
        snapshot: () => (isRejected ? (held ?? snapshot()) : snapshot()),
      };
    },
  },
  {
    that: 'reports no problems',
    fails: [REPORTED],
    files: true,
    context: (context) => ({ ...context, problem: () => {} }),
  },
  {
    that: 'resolves a problem only when it publishes itself',
    fails: [REPORTED],
    files: true,
    fault: ({ publish }, context) => ({
      async publish(...given) {
        await publish!(...given);
        context.problem();
      },
    }),
    context: (context) => ({
      ...context,
      problem: (message?: string) => message !== undefined && context.problem(message),
    }),
  },
];

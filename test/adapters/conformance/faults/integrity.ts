import type { BrokenAdapter } from './breaking.js';

const INTACT = 'checkIntegrity() finds no errors after any change';

export const integrityBugs: readonly BrokenAdapter[] = [
  {
    that: 'returns the result of a check that finds nothing as an error',
    fails: [INTACT],
    database: true,
    fault: ({ checkIntegrity }) => ({ checkIntegrity: async (full) => [...(await checkIntegrity!(full)), 'ok'] }),
  },
  {
    that: 'reports deleted versions as missing',
    fails: [INTACT],
    database: true,
    fault({ history, checkIntegrity }) {
      return {
        async checkIntegrity(full) {
          const { moves } = await history!.read();
          const missing = moves.filter(({ version }) => version === null).map(() => 'A version is missing.');
          return [...(await checkIntegrity!(full)), ...missing];
        },
      };
    },
  },
  {
    that: 'checks its files after close()',
    fails: ['close() makes every later call fail with closed'],
    database: true,
    fault: ({ checkIntegrity }) => ({ checkIntegrity: (full) => checkIntegrity!(full).catch(() => []) }),
  },
];

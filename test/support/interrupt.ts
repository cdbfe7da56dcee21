import { setImmediate as turn } from 'node:timers/promises';

/** Runs a command, and sends SIGTERM to it as soon as it handles the signal. */
export const interrupt = async <T>(run: () => Promise<T>): Promise<T> => {
  const before = process.listenerCount('SIGTERM');
  let ended = false;
  const running = run().finally(() => {
    ended = true;
  });
  while (!ended && process.listenerCount('SIGTERM') === before) await turn();
  const added = process.listeners('SIGTERM').slice(before);
  for (const listener of added) listener('SIGTERM');
  return running;
};

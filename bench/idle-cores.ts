/** What cores do while they have nothing to do: a benchmark that waits for answers would measure that as well. */
import { openSync, writeSync } from 'node:fs';

const LATENCY_REQUEST = '/dev/cpu_dma_latency';

/**
 * Keeps all cores awake until this process ends, by Linux's request for a latency of 0 microseconds (PM QoS).
 *
 * A core that sleeps takes tens of microseconds to wake, on a virtual machine as many as its host is busy; one answer
 * from a store comes after four such waits, and the store's client alone after two.
 *
 * @returns whether it could: only root may
 */
export const keepCoresAwake = (): boolean => {
  try {
    // The request holds for as long as the file is open.
    writeSync(openSync(LATENCY_REQUEST, 'r+'), new Int32Array([0]));
    return true;
  } catch {
    process.stderr.write(
      'Without root on Linux, idle cores sleep: waits for one answer at a time vary with the machine.\n',
    );
    return false;
  }
};

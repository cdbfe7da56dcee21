/**
 * Runs one kind of attack, in a process of its own, so that its work does not delay the measured caller.
 * Arguments: the kind, the port of the service, keys separated by commas, and the seconds. Prints how many responses had
 * each status, as JSON; status 0 is a connection that was closed without a response.
 */
import { ATTACKS, usedAddresses } from './attacks.js';
import { repeat } from './send.js';

const [kind = '', port = '', keys = '', seconds = ''] = process.argv.slice(2);
const attacks = ATTACKS[kind as keyof typeof ATTACKS](Number(port), keys.split(','));
const statuses: Record<number, number> = {};
const run = async (task: () => Promise<readonly number[]>): Promise<void> => {
  for (const status of await task()) statuses[status] = (statuses[status] ?? 0) + 1;
};
await Promise.all(attacks.map(({ perSecond, task }) => repeat(perSecond, Number(seconds) * 1000, () => run(task))));
process.stdout.write(JSON.stringify({ statuses, addresses: usedAddresses() }), () => process.exit());

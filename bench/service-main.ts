/**
 * The service's process: the command line as it is, or, with `--without-limiter` as the last word, the same service
 * embedded with a limiter that counts nothing. No configuration turns the limiter off.
 */
import { createApp } from '../app/create-app.js';
import { loadConfig } from '../app/load-config.js';
import { collectGently, keepTicksFast, yieldToEventLoop } from '../cli/engine.js';
import { main } from '../cli/main.js';
import type { Limiter } from '../core/contracts/limiter.js';

const noLimiter: Limiter = {
  take: (_subject, limit) => ({ allowed: true, limit, remaining: limit, resetMs: 0 }),
  health: () => ({ ok: true, message: null }),
  close: async () => undefined,
};

if (process.argv.at(-1) === '--without-limiter') {
  keepTicksFast();
  collectGently();
  const path = process.argv[process.argv.indexOf('--config') + 1];
  const app = await createApp(await loadConfig({ path, env: {} }), { limiter: noLimiter });
  process.once('SIGTERM', () => void app.close().then(() => process.exit(0)));
  process.stdout.write(`${(await app.listen()).url}\n`);
  yieldToEventLoop();
} else {
  await main(process.argv);
}

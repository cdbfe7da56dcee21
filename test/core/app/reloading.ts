import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../../core/util/package.js';
import { request } from '../../support/http-client.js';
import { LoadClient, sendSteadily } from '../../support/load-client.js';
import { freePort } from '../../support/server-process.js';
import { killAll, type Service, spawnCommand } from '../../support/spawned-service.js';
import { until } from '../../support/until.js';

interface Reloads {
  readonly perSecond: number;
  readonly reloads: number;
  /** One in this many reloads has an invalid configuration, which the service must reject. */
  readonly brokenEvery: number;
}

export class ReloadedService {
  readonly port: number;
  readonly #folder: string;
  readonly #running: Service[] = [];
  readonly #taken: Server;

  private constructor(folder: string, port: number, taken: Server) {
    this.#folder = folder;
    this.port = port;
    this.#taken = taken;
  }

  static async start(
    workers: number,
    prepare: (folder: string) => Promise<Readonly<Record<string, string>>> = async () => ({}),
  ): Promise<ReloadedService> {
    const folder = await mkdtemp(join(tmpdir(), 'reload-'));
    const taken = createServer().listen(0, '127.0.0.1');
    const service = new ReloadedService(folder, await freePort(), taken);
    await mkdir(join(folder, 'run'));
    await service.configure({ server: { workers } });
    service.#run(['--config', join(folder, 'api.json'), 'start'], await prepare(folder));
    await until(() => (existsSync(join(folder, 'run/service.json')) ? true : undefined));
    return service;
  }

  get log(): string {
    return this.#running[0]!.output.stderr;
  }

  get pid(): number {
    return this.#running[0]!.process.pid!;
  }

  #run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Service {
    const service = spawnCommand(args, { RUNTIME_DIRECTORY: join(this.#folder, 'run'), ...env });
    this.#running.push(service);
    return service;
  }

  async configure(change: { readonly server?: object; readonly [section: string]: unknown }): Promise<void> {
    const config = {
      adapter: { use: 'json', options: { path: join(packageRoot, 'plugins/metro/dataset') } },
      plugins: ['status', 'markets'],
      auth: { keys: 'memory', anonymous: 'enterprise' },
      limits: { requestsPerMinute: 1_000_000 },
      log: { level: 'warn' },
      ...change,
      server: { port: this.port, workers: 2, ...change.server },
    };
    await this.write('api.json', JSON.stringify(config));
  }

  write(name: string, text: string): Promise<void> {
    return writeFile(join(this.#folder, name), text);
  }

  broken(): readonly (readonly [apply: () => Promise<void>, message: string])[] {
    const taken = (this.#taken.address() as { port: number }).port;
    return [
      [() => this.write('api.json', '{"adapter": '), 'is not JSON'],
      [() => this.configure({ limits: { requestsPerMinute: 'many' } }), '"many" is not allowed'],
      [() => this.configure({ plugins: ['status', './throws.mjs'] }), 'no plugin today'],
      [
        () => this.configure({ adapter: { use: 'mongo', options: { uri: 'mongodb://127.0.0.1:9/dataset' } } }),
        'storage is not available',
      ],
      [() => this.configure({ server: { port: taken } }), 'is already in use'],
    ];
  }

  async reload(): Promise<{ readonly code: number | null; readonly text: string }> {
    const { exited, output } = this.#run(['reload']);
    const [code] = await exited;
    return { code, text: output.stdout + output.stderr };
  }

  async isReady(port = this.port): Promise<boolean> {
    const response = await request(`http://127.0.0.1:${port}/api/v1/ready`).catch(() => undefined);
    return response?.status === 200;
  }

  async limit(): Promise<number> {
    const { headers } = await request(`http://127.0.0.1:${this.port}/api/v1/markets/26420`, {
      headers: { Connection: 'close' },
    });
    return Number(/q=(\d+)/.exec(String(headers['ratelimit-policy']))?.[1]);
  }

  async stop(): ReturnType<() => Service['exited']> {
    const [service] = this.#running;
    service!.process.kill('SIGTERM');
    return service!.exited;
  }

  async remove(): Promise<void> {
    await killAll(this.#running);
    this.#taken.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

const PATHS = ['/markets/26420', '/markets', '/health', '/ready', '/status'];

export const reloadUnderLoad = async (
  service: ReloadedService,
  { perSecond, reloads, brokenEvery }: Reloads,
): Promise<void> => {
  const url = `http://127.0.0.1:${service.port}/api/v1`;
  await service.write('throws.mjs', 'throw new Error("no plugin today");');
  let sent = 0;
  const nextPath = () => PATHS[sent++ % PATHS.length]!;
  const clients = [
    new LoadClient(url, 'none', 32, { Authorization: '' }),
    new LoadClient(url, 'none', 8, { Authorization: '', Connection: 'close' }),
    // This client sends few requests, so most of its connections are idle during a reload.
    new LoadClient(url, 'none', 8, { Authorization: '' }),
  ];
  const rates = [perSecond * 0.8, perSecond * 0.15, perSecond * 0.05];
  const loads = clients.map((client, i) => sendSteadily(client, rates[i]!, nextPath));
  const broken = service.broken();
  let limit = 1_000_000;
  for (let n = 1, failures = 0; n <= reloads; n++) {
    if (n % brokenEvery === 0) {
      const [apply, message] = broken[failures++ % broken.length]!;
      await apply();
      const { code, text } = await service.reload();
      expect([code, text.includes(message)], text).to.deep.equal([1, true]);
    } else {
      const workers = 2 + (n % 2);
      await service.configure({ limits: { requestsPerMinute: ++limit }, server: { workers } });
      expect(await service.reload()).to.deep.equal({ code: 0, text: 'Reloaded.\n' });
    }
    expect(await service.limit()).to.equal(limit);
  }
  const answers = (await Promise.all(loads.map((load) => load.stop()))).flat();
  for (const client of clients) client.close();
  expect(answers.length).to.be.above(perSecond);
  const failed = answers.filter(({ status }) => status !== 200);
  expect(failed.map(({ path, status, body }) => ({ path, status, body }))).to.deep.equal([]);
};

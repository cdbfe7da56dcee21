import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import * as fixture from '../../support/fixture.js';
import { LoadClient, sendSteadily } from '../../support/load-client.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

/** The service closes slow connections within 15 seconds. The margin allows for a busy machine. */
const CLOSED_WITHIN_MS = 22_500;
const script = fileURLToPath(new URL('../../support/slow-clients-main.js', import.meta.url));

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1]!;

describe('1,000 slow connections', function () {
  this.timeout(60_000);
  let service: TestApp;
  let client: LoadClient;
  before(async () => {
    service = await startTestApp({
      collections: {
        ...fixture.documents,
        hpi: [fixture.ATLANTA, fixture.HOUSTON].flatMap((cbsa) =>
          Array.from({ length: 7600 }, (_, i) => ({
            cbsa,
            period_start: new Date(Date.UTC(100, i * 3, 1)).toISOString().slice(0, 10),
            value: 100 + i / 10,
          })),
        ),
      },
    });
    client = new LoadClient(service.url, service.key, 8);
  });
  after(async () => {
    client.close();
    await service.close();
  });

  const openSlowly = async (...orders: readonly string[]): Promise<number[][]> => {
    const args = [script, new URL(service.url).port, service.key, ...orders];
    return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout);
  };

  const latencies = async (during: Promise<unknown>): Promise<number[]> => {
    const asking = sendSteadily(client, 200, () => '/markets');
    await during;
    const answers = await asking.stop();
    // On a busy machine, the service rejects some requests because it is overloaded.
    for (const { status } of answers) expect(status).to.be.oneOf([200, 503]);
    expect(answers.filter(({ status }) => status === 200).length).to.be.above(answers.length / 2);
    return answers.map(({ sent, received }) => received - sent);
  };

  it('are closed in time if they trickle, send nothing or read nothing, while other clients are served', async () => {
    const quiet = await latencies(new Promise((resolve) => setTimeout(resolve, 3000)));
    const connections = openSlowly('trickle', '400', 'silent', '300', 'unread', '300');
    const loaded = await latencies(connections);
    const longest = (await connections).map((open) => Math.max(...open));
    const [before, during] = [percentile(quiet, 0.99), percentile(loaded, 0.99)];
    const ratio = (during / before).toFixed(2);
    console.log(`      closed after ${longest.map((ms) => (ms / 1000).toFixed(1)).join(', ')} s at most`);
    console.log(`      p99 ${before.toFixed(2)} ms without them, ${during.toFixed(2)} ms with them: ${ratio} x`);
    for (const ms of longest) expect(ms).to.be.below(CLOSED_WITHIN_MS);
  });
});

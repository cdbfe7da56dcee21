/** Where keys must never appear: the log, the metrics, error bodies and headers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { createKey } from '../../core/keys/key-format.js';
import { packageRoot } from '../../core/package-root.js';
import { commandArgs } from '../support/command-process.js';
import { request } from '../support/http-client.js';
import { misplaceKeys } from '../support/misplaced-keys.js';
import { findSecrets } from '../support/secret-forms.js';

describe('a key, valid or not', function () {
  this.timeout(30_000);

  it('sent in any place is in no log line at any level, no metric, no header and no body', async () => {
    const child = spawn(process.execPath, commandArgs(['start']), {
      cwd: packageRoot,
      env: {
        PATH: process.env['PATH'],
        PORT: '0',
        METRO__LOG__LEVEL: 'trace',
        METRO__LOG__FORMAT: 'json',
        METRO__METRICS__PORT: '0',
        METRO__LIMITS__REQUESTS_PER_MINUTE: '30',
      },
    });
    try {
      const output = { out: '', log: '' };
      child.stdout.on('data', (chunk) => {
        output.out += chunk;
      });
      child.stderr.on('data', (chunk) => {
        output.log += chunk;
      });
      const find = async (text: 'out' | 'log', pattern: RegExp): Promise<readonly string[]> => {
        for (;;) {
          const match = pattern.exec(output[text]);
          if (match) return match;
          await new Promise((next) => setTimeout(next, 20));
        }
      };
      const [, valid, url] = (await find('out', /Bearer (mfk_\w+)" (\S+)\/markets/)) as [string, string, string];
      const [, metricsUrl] = (await find('log', /"metricsUrl":"([^"]+)"/)) as [string, string];
      const unknown = createKey().key;
      const mistyped = `${valid.slice(0, -1)}${valid.endsWith('0') ? '1' : '0'}`;
      const secrets = { valid, unknown, mistyped };
      const answers = await misplaceKeys(url, Object.values(secrets), valid);
      const metrics = (await request(metricsUrl)).text;
      child.kill('SIGINT');
      await once(child, 'close');

      expect(output.log.split('\n').length).to.be.above(40);
      expect(metrics).to.contain('authentications_total{result="invalid"}');
      expect(answers).to.contain('invalid_api_key').and.to.contain('rate_limited');
      const places = [
        { name: 'the log', text: output.log },
        { name: 'the metrics', text: metrics },
        { name: 'the answers', text: answers },
      ];
      expect(findSecrets(places, secrets)).to.deep.equal([]);
    } finally {
      if (child.exitCode === null) child.kill('SIGKILL');
    }
  });
});

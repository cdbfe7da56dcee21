/** Where keys must never appear: the log, the metrics, error bodies and headers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { createKey } from '../../core/keys/key-format.js';
import { packageRoot } from '../../core/package-root.js';
import { commandArgs } from '../support/command-process.js';
import { request } from '../support/http-client.js';
import { exchange } from '../support/raw-http.js';

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
      const secrets = [valid, unknown, mistyped];

      let answers = '';
      const keep = async (answer: ReturnType<typeof request>) => {
        const { headers, text } = await answer;
        answers += `${JSON.stringify(headers)}${text}\n`;
      };
      for (const key of secrets) {
        for (const header of [`Bearer ${key}`, key, `Basic ${key}`, `Bearer ${key}, x`, `Bearer "${key}"`]) {
          await keep(request(`${url}/markets/26420`, { headers: { Authorization: header } }));
        }
        const headers = { Authorization: `Bearer ${valid}` };
        for (const target of [
          `/movers?limit=${key}`,
          `/markets/${key}`,
          `/${key}`,
          `/movers?${key}=1`,
          `/movers?key=${key}`,
        ]) {
          await keep(request(`${url}${target}`, { headers }));
        }
        for (const name of [
          'X-Request-Id',
          'traceparent',
          'Cookie',
          'Origin',
          'X-Api-Key',
          'If-None-Match',
          'Accept',
        ]) {
          await keep(request(`${url}/markets/26420`, { headers: { ...headers, [name]: key } }));
        }
        const { responses } = await exchange(Number(new URL(url).port), `GET /${key}\0 HTTP/1.1\r\nX: ${key}\r\n\r\n`);
        answers += JSON.stringify(responses);
      }
      const metrics = (await request(metricsUrl)).text;
      child.kill('SIGINT');
      await once(child, 'close');

      expect(output.log.split('\n').length).to.be.above(40);
      expect(metrics).to.contain('authentications_total{result="invalid"}');
      expect(answers).to.contain('invalid_api_key').and.to.contain('rate_limited');
      for (const key of secrets) {
        // A part that somebody could go on guessing from would be too much already.
        for (const secret of [key, key.slice(0, 24), key.slice(-24)]) {
          expect(output.log).to.not.contain(secret);
          expect(metrics).to.not.contain(secret);
          expect(answers).to.not.contain(secret);
        }
      }
    } finally {
      if (child.exitCode === null) child.kill('SIGKILL');
    }
  });
});

import { once } from 'node:events';
import { connect } from 'node:net';
import { assert } from 'chai';
import { request } from '../support/http-client.js';
import { startNginx } from '../support/nginx.js';
import { freePort } from '../support/server-process.js';
import type { Server } from '../support/services.js';
import { startTestApp } from '../support/test-app.js';

const sendRaw = async (port: number, text: string) => {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (bytes) => {
    answer += bytes;
  });
  socket.on('error', () => undefined);
  socket.end(text);
  await once(socket, 'close');
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  assert.match(head, /content-type: application\/json; charset=utf-8/i);
  return { status: Number(head.split(' ')[1]), json: JSON.parse(body) };
};

describe('nginx without a running replica', () => {
  let nginx: Server;

  before(async () => {
    const port = await freePort();
    nginx = await startNginx([port, port, port]);
  });

  after(() => nginx?.stop());

  it('GET is a 503 service_unavailable with Retry-After and the usual error body', async () => {
    const { status, json, headers } = await request(`${nginx.url}/api/v1/markets`);
    assert.deepEqual([status, json.code, headers['retry-after']], [503, 'service_unavailable', '2']);
    assert.hasAllKeys(json, ['error', 'code']);
  });

  it('GET is a 200 as soon as a replica runs again', async () => {
    const port = await freePort();
    const proxy = await startNginx([port, port, port]);
    try {
      assert.equal((await request(`${proxy.url}/api/v1/ready`)).status, 503);
      const replica = await startTestApp({ config: { server: { port } } });
      try {
        assert.equal((await request(`${proxy.url}/api/v1/ready`)).status, 200);
      } finally {
        await replica.close();
      }
    } finally {
      await proxy.stop();
    }
  });

  const faults: readonly (readonly [what: string, text: string, status: number, code: string])[] = [
    ['no HTTP request', 'NONSENSE\r\n\r\n', 400, 'invalid_parameter'],
    ['a request without Host', 'GET / HTTP/1.1\r\n\r\n', 400, 'invalid_parameter'],
    ['a target of 40 KB', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414, 'uri_too_long'],
    ['a header of 40 KB', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431, 'headers_too_large'],
  ];
  for (const [what, text, status, code] of faults) {
    it(`${what} is a ${status} ${code}`, async () => {
      const answer = await sendRaw(nginx.port, text);
      assert.deepEqual([answer.status, answer.json.code], [status, code]);
    });
  }
});

describe('nginx in front of a replica', () => {
  it('callers without a key are counted by address, and X-Forwarded-For does not change the address', async () => {
    const config = { server: { port: 0, trustProxy: 1 }, limits: { requestsPerMinute: 2 } };
    const replica = await startTestApp({ config });
    const port = Number(new URL(replica.url).port);
    const nginx = await startNginx([port, port, port]);
    try {
      const statuses: number[] = [];
      for (let i = 0; i < 3; i++) {
        const headers = { 'X-Forwarded-For': `192.0.2.${i}` };
        statuses.push((await request(`${nginx.url}/api/v1/markets`, { headers })).status);
      }
      // The readiness check used the first of the two permits.
      assert.deepEqual(statuses, [401, 429, 429]);
    } finally {
      await nginx.stop();
      await replica.close();
    }
  });
});

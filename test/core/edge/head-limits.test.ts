import { expect } from 'chai';
import { request } from '../../support/http-client.js';
import { exchange } from '../../support/raw-http.js';
import { startTestApp, type TestApp } from '../../support/test-app.js';

const HEALTH = '/api/v1/health';

for (const [what, limits] of [
  ['the defaults', {}],
  ['a long target and small fields', { maxUrlBytes: 65_536, maxHeaderBytes: 1024 }],
  ['a short target and large fields', { maxUrlBytes: 64, maxHeaderBytes: 65_536 }],
] as const) {
  describe(`the head of a request, with ${what}`, () => {
    const { maxUrlBytes, maxHeaderBytes } = { maxUrlBytes: 8192, maxHeaderBytes: 16_384, ...limits };
    let service: TestApp;
    let port: number;
    before(async () => {
      service = await startTestApp({ config: { server: { port: 0, ...limits }, metrics: { port: 0 } } });
      port = Number(new URL(service.url).port);
    });
    after(() => service.close());

    const send = async (targetBytes: number, fieldBytes: number, count = 1) => {
      const target = `${HEALTH}?`.padEnd(targetBytes, 'a').slice(0, Math.max(targetBytes, HEALTH.length));
      const host = 'Host: test\r\n';
      const left = fieldBytes - host.length;
      const each = Math.floor(left / count);
      const fields = Array.from({ length: count }, (_, i) => {
        const size = i === 0 ? left - each * (count - 1) : each;
        return `X: ${'x'.repeat(size - 'X: \r\n'.length)}\r\n`;
      });
      const head = host + fields.join('');
      expect([target.length, head.length]).to.deep.equal([targetBytes, fieldBytes]);
      const { responses, closed } = await exchange(port, `GET ${target} HTTP/1.1\r\n${head}\r\n`);
      expect(responses).to.have.length(1);
      const { status, body } = responses[0]!;
      return { status, code: status === 200 ? undefined : JSON.parse(body).code, closed };
    };
    const SHORT = HEALTH.length;
    const TOO_LARGE = { status: 431, code: 'headers_too_large', closed: true };

    for (const count of [1, 2, 40]) {
      it(`${count + 1} fields with maxHeaderBytes in total are accepted; one more byte is a 431 that closes the connection`, async () => {
        expect((await send(SHORT, maxHeaderBytes, count)).status).to.equal(200);
        expect(await send(SHORT, maxHeaderBytes + 1, count)).to.deep.equal(TOO_LARGE);
        expect(await send(SHORT, maxHeaderBytes + 1000, count)).to.deep.equal(TOO_LARGE);
      });
    }

    it('a target of maxUrlBytes is parsed; one more byte is a 414', async () => {
      // The endpoint has no parameters, so this error shows that the target was parsed.
      expect((await send(maxUrlBytes, 100)).code).to.equal('unknown_parameter');
      expect(await send(maxUrlBytes + 1, 100)).to.include({ status: 414, code: 'uri_too_long' });
    });

    it('a request may use both limits fully', async () => {
      expect((await send(maxUrlBytes, maxHeaderBytes)).code).to.equal('unknown_parameter');
      expect(await send(maxUrlBytes + 1, maxHeaderBytes)).to.include({ status: 414, code: 'uri_too_long' });
      expect(await send(maxUrlBytes, maxHeaderBytes + 1)).to.deep.equal(TOO_LARGE);
    });

    it('a head larger than both limits together is a 431 that closes the connection and is counted', async () => {
      const rejections = async () =>
        Number(/refusals_total\{reason="malformed"\} (\d+)/.exec((await request(service.metricsUrl!)).text)?.[1]);
      const before = await rejections();
      expect(await send(maxUrlBytes + maxHeaderBytes + 100, 100)).to.deep.equal(TOO_LARGE);
      expect(await send(SHORT, maxUrlBytes + maxHeaderBytes + 100)).to.deep.equal(TOO_LARGE);
      expect(await send(SHORT, maxHeaderBytes + 1)).to.deep.equal(TOO_LARGE);
      expect(await rejections()).to.equal(before + 3);
    });
  });
}

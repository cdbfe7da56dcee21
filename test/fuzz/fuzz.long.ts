/** `npm run fuzz` must find no errors in the service. It must find errors if the OpenAPI document is wrong. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { findSchemathesis, runSchemathesis, type Schemathesis } from './schemathesis.js';
import { type FuzzedService, startFuzzedService } from './service.js';

// biome-ignore lint/suspicious/noExplicitAny: the test changes a document of any shape
type Document = any;

const serveChanged = async (service: FuzzedService, change: (document: Document) => void) => {
  const server = createServer(async (request, response) => {
    const { pathname, search } = new URL(request.url!, 'http://localhost');
    const headers = Object.entries(request.headers).filter(
      ([name]) => !/^(connection|host|transfer-encoding)$/.test(name),
    );
    const answer = await fetch(`${service.url}${pathname}${search}`, {
      method: request.method!,
      headers: Object.fromEntries(headers) as Record<string, string>,
    });
    let body = Buffer.from(await answer.arrayBuffer());
    if (pathname === '/openapi.json' && answer.status === 200) {
      const document = JSON.parse(body.toString());
      change(document);
      document.servers = [{ url: '/' }];
      body = Buffer.from(JSON.stringify(document));
    }
    const kept = [...answer.headers].filter(
      ([name]) => !/^(connection|content-(encoding|length)|keep-alive)$/.test(name),
    );
    response.writeHead(answer.status, kept.flat()).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, key: service.key, stop: () => server.close() };
};

describe('npm run fuzz', function () {
  this.timeout(600_000);
  let schemathesis: Schemathesis;
  let service: FuzzedService;
  before(async () => {
    schemathesis = await findSchemathesis();
    service = await startFuzzedService('json');
  });
  after(() => service?.stop());

  it('finds no difference between the document and the responses, in every phase', async () => {
    const verdict = await runSchemathesis(schemathesis, service, { examples: 10, seed: 1 });
    expect(verdict).to.include({ passed: true, failures: 0 });
    expect(verdict.cases).to.be.above(1000);
  });

  const wrong: readonly (readonly [what: string, change: (document: Document) => void, failure: string])[] = [
    [
      'a required property that fields removes',
      ({ components }) => components.schemas.Market.required.push('signal'),
      '"signal" is a required property',
    ],
    [
      'a comma list without its allowed values',
      ({ paths }) => {
        paths['/markets'].get.parameters.find(({ name }: Document) => name === 'signal').schema = { type: 'string' };
      },
      '"in":"query","name":"signal"',
    ],
  ];
  for (const [what, change, failure] of wrong) {
    it(`reports ${what}`, async () => {
      const changed = await serveChanged(service, change);
      let output = '';
      const print = (text: string) => {
        output += text;
      };
      try {
        const verdict = await runSchemathesis(schemathesis, changed, {
          examples: 10,
          seed: 1,
          path: '/markets',
          print,
        });
        expect(verdict.passed).to.equal(false);
        expect(verdict.failures).to.be.above(0);
        expect(output).to.include(failure);
      } finally {
        changed.stop();
      }
    });
  }
});

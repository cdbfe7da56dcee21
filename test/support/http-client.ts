/** An HTTP client that sends requests unchanged and does not interpret responses. */
import { type Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';

export interface TestResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** Throws if the body is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of any shape
  readonly json: any;
}

export interface TestRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
  readonly agent?: Agent;
}

export const request = (
  url: string,
  { method = 'GET', headers = {}, body, agent }: TestRequest = {},
): Promise<TestResponse> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    // `URL` would normalize the target.
    const path = url.slice(url.indexOf('/', url.indexOf('//') + 2));
    const call = httpRequest({ hostname, port, path, method, headers, agent: agent ?? false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes,
          text: bytes.toString(),
          get json() {
            return JSON.parse(bytes.toString());
          },
        });
      });
    });
    call.on('error', reject);
    call.end(body);
  });

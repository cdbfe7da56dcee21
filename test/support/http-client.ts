/** Plain HTTP over a socket: what is sent is exactly what the test says, and nothing is interpreted. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';

export interface TestResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** Of the body; throws where it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies are what tests look into
  readonly json: any;
}

export interface TestRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
}

export const request = (url: string, { method = 'GET', headers = {}, body }: TestRequest = {}): Promise<TestResponse> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    // The target is taken from the text: URL would normalise it.
    const path = url.slice(url.indexOf('/', url.indexOf('//') + 2));
    const call = httpRequest({ hostname, port, path, method, headers, agent: false }, (response) => {
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

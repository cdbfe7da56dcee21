/** writeRequests(folder, requests): a file that load generators send, and how many of its responses are errors. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { requestText, splitRequests, writeRequests } from '../../bench/request-list.js';

describe('writeRequests(folder, requests)', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'request-list-test-'));
  });
  after(() => rm(folder, { recursive: true }));

  const requests = [
    { path: '/a', key: 'one' },
    { path: '/b?c=d', key: 'two', fails: true, closes: true, headers: { 'If-None-Match': '"etag"' } },
    { path: '/c', key: 'one', fails: true },
  ];

  it('writes heads that can be told apart again', async () => {
    const { file } = await writeRequests(folder, requests);
    expect(splitRequests(await readFile(file, 'latin1'))).to.deep.equal(requests.map(requestText));
    expect(requestText(requests[1]!)).to.equal(
      'GET /b?c=d HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer two\r\nAccept: application/json\r\n' +
        'If-None-Match: "etag"\r\nConnection: close\r\n\r\n',
    );
  });

  it('tells how many of the first responses are errors, over several rounds', async () => {
    const { errorsAmong } = await writeRequests(folder, requests);
    expect(Array.from({ length: 8 }, (_, count) => errorsAmong(count))).to.deep.equal([0, 0, 1, 2, 2, 3, 4, 4]);
  });
});

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { writeRequests } from '../../bench/requests.js';

describe('writeRequests(folder, requests)', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'requests-test-'));
  });
  after(() => rm(folder, { recursive: true }));

  const requests = [
    { path: '/a', key: 'one' },
    { path: '/b?c=d', key: 'two', fails: true, closes: true, headers: { 'If-None-Match': '"etag"' } },
    { method: 'POST', path: '/c', key: 'one', fails: true, body: 'd' },
  ];

  it('writes requests with headers and a body', async () => {
    const { file } = await writeRequests(folder, requests);
    const written = (await readFile(file, 'latin1')).split('\0');
    expect(written).to.have.length(3);
    expect(written[1]).to.equal(
      'GET /b?c=d HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer two\r\nAccept: application/json\r\n' +
        'If-None-Match: "etag"\r\nConnection: close\r\n\r\n',
    );
    expect(written[2]).to.match(/^POST \/c [\s\S]*\r\nContent-Length: 1\r\n\r\nd$/);
  });

  it('counts the errors among the first responses, even when the list is repeated', async () => {
    const { errorsAmong } = await writeRequests(folder, requests);
    expect(Array.from({ length: 8 }, (_, count) => errorsAmong(count))).to.deep.equal([0, 0, 1, 2, 2, 3, 4, 4]);
  });
});

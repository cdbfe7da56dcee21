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
    { path: '/c', key: 'one', fails: true },
  ];

  it('writes the request heads one after another', async () => {
    const { file } = await writeRequests(folder, requests);
    const heads = (await readFile(file, 'latin1')).split(/(?<=\r\n\r\n)/);
    expect(heads).to.have.length(3);
    expect(heads[1]).to.equal(
      'GET /b?c=d HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer two\r\nAccept: application/json\r\n' +
        'If-None-Match: "etag"\r\nConnection: close\r\n\r\n',
    );
  });

  it('counts the errors among the first responses, even when the list is repeated', async () => {
    const { errorsAmong } = await writeRequests(folder, requests);
    expect(Array.from({ length: 8 }, (_, count) => errorsAmong(count))).to.deep.equal([0, 0, 1, 2, 2, 3, 4, 4]);
  });
});

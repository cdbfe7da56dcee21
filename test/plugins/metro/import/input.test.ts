import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { ImportErrors } from '../../../../plugins/metro/import/import-errors.js';
import { findInputs } from '../../../../plugins/metro/import/input.js';
import { readInputs } from '../../../../plugins/metro/import/read.js';
import { operatorFailure } from '../../../support/operator-failure.js';

const UNRATE = 'DATE,UNRATE\n2025-01-01,4.0\n2025-02-01,4.1\n';
const GDP = 'observation_date,GDP\n2025-01-01,29962.047\n2025-04-01,30331.117\n';
const METRO = '"A, TX",10000,2024,1,100.00,( 1.00)\r\n';
const PURCHASE_ONLY = '\ufeffcbsa,metro_name,yr,qtr,index_nsa,index_sa\r\n10580,"Albany, NY",1991,1,100.00,100.00';

describe('plugins/metro/import inputs', () => {
  let directory: string;
  let server: Server;
  let base: string;

  const read = async (sources: string[], silenceMs?: number) => {
    const errors = new ImportErrors();
    const imported = await readInputs(await findInputs(sources, silenceMs === undefined ? {} : { silenceMs }), errors);
    errors.throwIfAny(false);
    return { ...imported, ids: imported.macro.map(({ id }) => id) };
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'import-'));
    server = createServer((request, response) => {
      const path = request.url?.split('?')[0];
      if (path === '/plain') response.end(UNRATE);
      else if (path === '/gzip') response.setHeader('content-encoding', 'gzip').end(gzipSync(UNRATE));
      else if (path === '/moved') response.writeHead(302, { location: '/plain' }).end();
      else if (path === '/silent') return;
      else if (path === '/stalled') response.write(UNRATE);
      else if (path === '/cut') {
        response.writeHead(200, { 'content-length': 1000 });
        response.write(UNRATE, () => response.destroy());
      } else if (path === '/page') response.end('<!doctype html><title>Sign in</title>');
      else response.writeHead(404).end('not here');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(directory, { recursive: true });
  });

  const put = async (name: string, text: string): Promise<string> => {
    const path = join(directory, name);
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, text);
    return path;
  };

  it('reads a directory recursively, and names skipped files', async () => {
    await put('all/macro/data.txt', UNRATE);
    await put('all/macro/deep/er/g.csv', GDP);
    await put('all/index', METRO);
    await put('all/.hidden.csv', GDP);
    await put('all/readme.md', '# Notes\n');
    await put('all/empty.csv', '');
    await put('all/purchase-only.csv', PURCHASE_ONLY);
    await symlink('..', join(directory, 'all/macro/loop'));
    const { index, ids, ignored } = await read([join(directory, 'all')]);
    expect(index).to.have.length(1);
    expect(ids).to.deep.equal(['GDP', 'UNRATE']);
    expect(ignored.map((line) => line.slice(directory.length + 5))).to.deep.equal([
      'empty.csv: has an unknown format; it starts with ""',
      "purchase-only.csv: is FHFA's purchase-only index, which covers only the 100 largest areas",
      'readme.md: has an unknown format; it starts with "# Notes"',
    ]);
  });

  it('skips a pipe in a directory, even behind a link', async () => {
    const folder = await mkdtemp(join(directory, 'pipes-'));
    await writeFile(join(folder, 'unrate.csv'), UNRATE);
    execFileSync('mkfifo', [join(folder, 'pipe.csv')]);
    await symlink(join(folder, 'pipe.csv'), join(folder, 'link.csv'));
    expect((await read([folder])).ids).to.deep.equal(['UNRATE']);
  });

  it('immediately rejects a pipe or a device as a named input', async () => {
    const pipe = join(directory, 'named');
    execFileSync('mkfifo', [pipe]);
    for (const path of [pipe, '/dev/zero']) {
      const message = await operatorFailure(read([path]));
      expect(message).to.equal(`Cannot read ${path}: it is a pipe, a socket or a device; name a regular file`);
    }
    await rm(pipe);
  });

  it('rejects a directory without a known file', async () => {
    await put('none/readme.md', '# Notes\n');
    expect(await operatorFailure(read([join(directory, 'none')]))).to.match(
      /nothing to import.*hpi_at_metro\.csv.*readme\.md/s,
    );
    await mkdir(join(directory, 'bare'));
    expect(await operatorFailure(read([join(directory, 'bare')]))).to.include('there are no files in this directory');
  });

  it('rejects a named file in an unknown format, and lists the known formats', async () => {
    const message = await operatorFailure(
      read([await put('purchase-only.csv', PURCHASE_ONLY), await put('x.csv', 'a,b,c\n1,2,3\n')]),
    );
    expect(message).to.match(/purchase-only\.csv: is FHFA's purchase-only index/);
    expect(message).to.match(
      /x\.csv: has an unknown format; it starts with "a,b,c"\. Expected FHFA's all-transactions index/,
    );
  });

  it('recognises a file whose first row is invalid', async () => {
    const message = await operatorFailure(read([await put('bad-first.csv', `"A, TX",1,2024,1,-,-\r\n${METRO}`)]));
    expect(message).to.include('bad-first.csv:1: the code must be 5 digits');
  });

  it('names every missing source', async () => {
    const message = await operatorFailure(
      read([join(directory, 'no-such'), join(directory, 'nor-this.csv'), 'http://[']),
    );
    expect(message)
      .to.match(/no-such: it does not exist/)
      .and.match(/nor-this\.csv: it does not exist/)
      .and.match(/http:\/\/\[: is not a valid URL/);
  });

  it('rejects two files with the same data', async () => {
    const message = await operatorFailure(
      read([
        await put('one.csv', METRO),
        await put('two.csv', METRO),
        await put('three.csv', UNRATE),
        await put('four.csv', UNRATE),
      ]),
    );
    expect(message).to.match(/two\.csv: contains FHFA's index, and so does .*one\.csv/);
    expect(message).to.match(/four\.csv: contains the series UNRATE, and so does .*three\.csv/);
  });

  it('rejects a file without a usable row', async () => {
    expect(await operatorFailure(read([await put('unusable.csv', '"A, TX",1,2024,1,-,-\r\n')]))).to.include(
      'has no usable rows',
    );
  });

  for (const path of ['/plain', '/gzip', '/moved', '/plain?id=UNRATE&x=%20']) {
    it(`fetches ${path}`, async () => {
      expect((await read([base + path])).ids).to.deep.equal(['UNRATE']);
    });
  }

  it('explains why a URL cannot be fetched', async () => {
    expect(await operatorFailure(read([`${base}/absent`]))).to.equal(
      `Cannot fetch ${base}/absent: the server responded with 404 Not Found`,
    );
    expect(await operatorFailure(read([`${base}/page`]))).to.match(/unknown format; it starts with "<!doctype html>/);
    expect(await operatorFailure(read([`${base}/cut`]))).to.match(/^Cannot fetch .*\/cut: /);
  });

  it('reports that the server refuses connections', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    expect(await operatorFailure(read([`http://127.0.0.1:${port}/x.csv`]))).to.match(
      /^Cannot fetch .*: .*ECONNREFUSED/,
    );
  });

  for (const path of ['/silent', '/stalled']) {
    it(`gives up on a server that is ${path.slice(1)}`, async () => {
      expect(await operatorFailure(read([base + path], 100))).to.equal(
        `Cannot fetch ${base}${path}: the server was silent for 0.1 seconds`,
      );
    });
  }
});

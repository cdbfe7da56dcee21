/**
 * The service of docs/tutorials/first-service.md must not mention metro forecasts. The test searches everything that
 * the service sends, logs or prints.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../core/util/package.js';
import { freePort } from '../support/server-process.js';
import { addTo, snippetsOf } from '../support/snippets.js';

const run = promisify(execFile);
const command = join(packageRoot, 'cli/metro-forecast.js');

const COMMAND = /\bmetro-forecast (?=(keys create|types)\b)/g;
const WORDS = /metro|forecast|house.?price|\bhpi\b|cbsa|fhfa|mfk_/i;

const found = (bytes: string): string | undefined => {
  const text = bytes.replace(COMMAND, '');
  const at = text.search(WORDS);
  return at < 0 ? undefined : text.slice(Math.max(0, at - 60), at + 60);
};

describe('the library catalogue of docs/tutorials/first-service.md', () => {
  let folder: string;
  let port: number;
  let key: string;
  let service: ChildProcess;
  let log = '';

  const cli = (...args: string[]) =>
    run(process.execPath, [command, '--config', 'library.json', ...args], { cwd: folder });

  const send = async (bytes: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      received += chunk;
    });
    socket.setTimeout(5000, () =>
      socket.destroy(new Error(`the response to ${bytes.slice(0, 80)} did not end: ${received}`)),
    );
    socket.write(bytes);
    await once(socket, 'close');
    return Buffer.from(received, 'latin1').toString();
  };
  const get = (target: string, headers: Readonly<Record<string, string>> = {}, method = 'GET', body = '') => {
    const lines = Object.entries({ Host: 'localhost', Connection: 'close', ...headers });
    const length = body === '' ? [] : [['Content-Length', String(Buffer.byteLength(body))]];
    const head = [...lines, ...length].map(([name, value]) => `${name}: ${value}\r\n`).join('');
    return send(`${method} ${target} HTTP/1.1\r\n${head}\r\n${body}`);
  };
  const bearer = () => ({ Authorization: `Bearer ${key}` });
  const bodyOf = (response: string) => JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4));

  before(async function () {
    this.timeout(60_000);
    folder = await realpath(await mkdtemp(join(tmpdir(), 'library-')));
    await mkdir(join(folder, 'node_modules'));
    await symlink(packageRoot, join(folder, 'node_modules/metro-forecast-api'), 'dir');
    const path = join(folder, 'api.json');
    for (const { info, code } of snippetsOf('docs/tutorials/first-service.md')) {
      if (info === 'books.csv') await writeFile(join(folder, info), code);
      if (info === 'add api.json') await addTo(path, code);
      if (/^npx metro-forecast (import-table|init) /.test(code))
        await run(process.execPath, [command, ...code.trim().split(' ').slice(2)], { cwd: folder });
    }
    const config = JSON.parse(await readFile(path, 'utf8'));
    port = await freePort();
    const metrics = { port: await freePort() };
    const more = { plugins: [...config.plugins, 'mcp'], metrics, log: { level: 'trace', format: 'json' } };
    const server = { port, drainDelayMs: 1, maxConnectionsPerAddress: 50 };
    await writeFile(join(folder, 'library.json'), JSON.stringify({ ...config, ...more, server }));
    key = (await cli('keys', 'create', '--name', 'reader', '--limit', '1000')).stdout.trim();
    service = spawn(process.execPath, [command, '--config', 'library.json', 'start'], { cwd: folder });
    service.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
      log += chunk;
    });
    for await (const chunk of service.stdout!.setEncoding('utf8')) {
      log += chunk;
      if (log.includes('Listening on')) break;
    }
  });
  after(async () => {
    if (service.exitCode === null && service.signalCode === null) {
      service.kill('SIGKILL');
      await once(service, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  });

  it('has the name and description of its configuration', async () => {
    expect(key).to.match(/^lib_[0-9A-Za-z]{49}$/);
    expect(await get('/api/v1/books')).to.include('WWW-Authenticate: Bearer realm="Library catalogue"');
    const { info } = bodyOf(await get('/api/v1/openapi.json'));
    expect(info).to.deep.include({
      title: 'Library catalogue',
      version: '1.0.0',
      summary: 'The books of our library.',
      contact: { name: 'The librarians', email: 'books@example.org' },
    });
    expect(info).to.not.have.any.keys('license', 'termsOfService');
    expect(bodyOf(await get('/api/v1/status')).status).to.equal('operational');
    expect(bodyOf(await get('/api/v1/health'))).to.deep.equal({ status: 'ok' });
    expect(await get('/', { Accept: 'text/html' })).to.include('<title>Library catalogue</title>');
  });

  it('mentions no metros on its front page, its reference, its table pages, and in their files', async () => {
    const json = await get('/', { Accept: 'application/json' });
    const pages = [json, await get('/', { Accept: 'text/html' })];
    for (const { href } of bodyOf(json).links) pages.push(await get(href));
    for (const path of ['/docs', '/tables']) {
      const page = await get(path);
      const files = [...page.matchAll(/(?:href|src)="([^"]+\/v-[^"]+)"/g)].map(([, file]) => file!);
      expect(files.length).to.be.greaterThan(5);
      for (const file of files) {
        const response = await get(file);
        expect(response, file).to.match(/^HTTP\/1\.1 200 /);
        for (const [, module] of response.matchAll(/^(?:import .*|\}) from '([^']+)'/gm)) {
          expect(files, file).to.include(new URL(module!, `http://localhost${file}`).pathname);
        }
        pages.push(response);
      }
    }
    for (const page of pages) expect(found(page)).to.equal(undefined);
  });

  it('mentions no metros in its OpenAPI document, its data and its errors with every status', async () => {
    const cases: readonly [status: number, () => Promise<string>][] = [
      [200, () => get('/api/v1/openapi.json')],
      [200, () => get('/api/v1/status')],
      [200, () => get('/api/v1/health')],
      [200, () => get('/api/v1/books', bearer())],
      [200, () => get('/api/v1/books?format=csv', bearer())],
      [200, () => get('/api/v1/books', bearer(), 'HEAD')],
      [204, () => get('/api/v1/books', {}, 'OPTIONS')],
      [304, () => get('/api/v1/books', { ...bearer(), 'If-None-Match': '*' })],
      [400, () => get('/api/v1/books?published_from=x', bearer())],
      [400, () => get('/api/v1/books?publisched=1', bearer())],
      [400, () => get('/api/v1/books?published=%', bearer())],
      [400, () => send('nonsense\r\n\r\n')],
      [400, () => get('/api/v1/books?published[gte]=x', bearer())],
      [401, () => get('/api/v1/books')],
      [401, () => get('/api/v1/books', { Authorization: 'Bearer lib_wrong' })],
      [404, () => get('/nowhere')],
      [404, () => get('/api/v1/books/0', bearer())],
      [404, () => get('/explore')],
      [404, () => get('/docs/nowhere')],
      [405, () => get('/api/v1/books', bearer(), 'POST')],
      [406, () => get('/api/v1/books', { ...bearer(), Accept: 'image/png' })],
      [414, () => get(`/api/v1/books?published=${'1'.repeat(9000)}`, bearer())],
      [431, () => get('/', { 'X-Long': 'x'.repeat(30_000) })],
    ];
    for (const [status, ask] of cases) {
      const response = await ask();
      expect(response).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(found(response), response.slice(0, 60)).to.equal(undefined);
    }
  });

  it('mentions no metros to AI assistants', async () => {
    const post = (method: string, params: object) =>
      get(
        '/mcp',
        { ...bearer(), 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
        'POST',
        JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      );
    const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const responses = [
      await post('initialize', client),
      await post('tools/list', {}),
      await post('tools/call', { name: 'list_books', arguments: { filters: { 'published[gte]': 1850 } } }),
      await post('tools/call', { name: 'list_books', arguments: { filters: { 'published[gte]': 'x' } } }),
      await post('tools/call', { name: 'list_bocks', arguments: {} }),
      await get('/mcp', {}, 'POST', '{}'),
    ];
    expect(responses[0]).to.include('"name":"library"');
    expect(responses[1]).to.include('list_books');
    expect(responses[2]).to.include('A Tale of Two Cities');
    for (const response of responses) expect(found(response)).to.equal(undefined);
  });

  it('mentions no metros in its types, its metrics, its log and the output of its commands', async () => {
    const { metrics } = JSON.parse((await cli('config')).stdout);
    const scraped = await (await fetch(`http://127.0.0.1:${metrics.port}/metrics`)).text();
    expect(scraped).to.include('# HELP');
    const printed = await Promise.all([
      cli('types'),
      cli('config', '--json'),
      cli('validate', 'dataset'),
      cli('keys', 'list'),
      cli('doctor', '--json').catch((error: { stdout: string; stderr: string }) => error),
    ]);
    service.kill('SIGTERM');
    await once(service, 'exit');
    expect(log).to.include('"route":"/api/v1/books"');
    const texts = [scraped, log, ...printed.flatMap(({ stdout, stderr }) => [stdout, stderr])];
    for (const text of texts) expect(found(text)).to.equal(undefined);
  });
});

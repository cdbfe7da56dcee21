import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { findTool, nginx, onPath } from '../support/binaries.js';
import { freePort, type Server, startServer } from '../support/server-process.js';
import { at, CLOSING_MS, read } from '../support/shipped-files.js';
import { skip } from '../support/skip.js';
import { startTestApp } from '../support/test-app.js';

const run = promisify(execFile);

const expectJsonError = (response: string, status: number, code: string): void => {
  expect(response).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(response).to.match(/^content-type: application\/json; charset=utf-8\r$/im);
  expect(response).to.match(/^cache-control: no-store\r$/im);
  const body = JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4));
  expect(body).to.have.all.keys('error', 'code').and.include({ code });
};

describe('config/deploy/tls and config/deploy/systemd', function () {
  this.timeout(60_000);
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'proxies-'));
  });
  after(() => rm(folder, { recursive: true }));

  const REPLICAS = read('config/deploy/tls/nginx.conf');
  const ONE_SERVICE = REPLICAS.replace(/(^ {2}(server|#) .*\n)+/m, '  server 127.0.0.1:8080;\n');
  const SHIPPED = Object.entries({ 'one service': ONE_SERVICE, replicas: REPLICAS });

  const withCertificate = async (text: string): Promise<string> => {
    const [key, certificate] = ['key.pem', 'certificate.pem'].map((file) => join(folder, file));
    const subject = ['-subj', '/CN=api.example.com', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    await run('openssl', ['req', '-x509', '-nodes', '-days', '1', ...subject, '-keyout', key!, '-out', certificate!]);
    const server = text
      .replace(/ssl_certificate \S+;/, `ssl_certificate ${certificate};`)
      .replace(/ssl_certificate_key \S+;/, `ssl_certificate_key ${key};`);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${folder}/t;`,
    );
    return `pid ${folder}/pid; events {} http { access_log off; ${temporary.join(' ')} ${server} }`;
  };

  for (const [name, text] of SHIPPED) {
    it(`nginx accepts nginx.conf for ${name}, with a certificate`, async () => {
      const whole = await withCertificate(text);
      const file = join(folder, 'nginx.conf');
      await writeFile(file, whole.replace(/listen (\S*?)(80|443)\b/g, 'listen $11$2'));
      const { stderr } = await run(await nginx(), ['-t', '-p', folder, '-e', 'stderr', '-c', file]);
      expect(stderr).to.contain('test is successful').and.not.contain('[warn]');
    });
  }

  const get = async (port: number, path = '/api/v1/ready', ...options: readonly string[]): Promise<string> => {
    const { stdout } = await run('curl', ['-ski', '--http1.1', ...options, `https://127.0.0.1:${port}${path}`]);
    return stdout;
  };

  const startNginx = async (shipped: string, addresses: Readonly<Record<string, string>>): Promise<Server> => {
    let whole = await withCertificate(shipped);
    for (const [from, to] of Object.entries(addresses)) whole = whole.replaceAll(from, to);
    return startServer({
      name: 'nginx-tls',
      program: await nginx(),
      args: (port, own) => {
        const text = whole
          .replaceAll(`${folder}/t`, `${own}/t`)
          .replace(`${folder}/pid`, `${own}/nginx.pid`)
          // The test removes IPv6 listeners. The redirecting server listens on a Unix socket, and the TLS server on
          // 127.0.0.1.
          .replace(/^ +listen \[.*;$/gm, '')
          .replace('listen 80;', `listen unix:${own}/http.sock;`)
          .replace('listen 443', `listen 127.0.0.1:${port}`);
        writeFileSync(join(own, 'nginx.conf'), text);
        return ['-p', own, '-e', 'stderr', '-c', join(own, 'nginx.conf'), '-g', 'daemon off; master_process off;'];
      },
      url: (port) => `https://127.0.0.1:${port}`,
      ready: async (port) => void (await get(port)),
    });
  };

  it('nginx.conf terminates TLS, retries on another replica, and returns 503 only while all replicas are down', async () => {
    const replicas = [await startTestApp(), await startTestApp()];
    const [first, second] = replicas.map(({ url }) => new URL(url).host);
    const started = await startNginx(REPLICAS, { '10.0.0.11:8080': first!, '10.0.0.12:8080': second! });
    try {
      expect(await get(started.port)).to.match(/^HTTP\/1\.1 200 [\s\S]*strict-transport-security: max-age=31536000/i);
      await replicas[0]!.close();
      for (let i = 0; i < 4; i++) expect(await get(started.port)).to.match(/^HTTP\/1\.1 200 /);
      await replicas[1]!.close();
      const unavailable = await get(started.port);
      expect(unavailable)
        .to.match(/^HTTP\/1\.1 503 [\s\S]*retry-after: 2/i)
        .and.to.contain('"service_unavailable"');
      expect(unavailable).to.match(/strict-transport-security/i);
      replicas.push(await startTestApp({ config: { server: { port: Number(new URL(replicas[0]!.url).port) } } }));
      expect(await get(started.port)).to.match(/^HTTP\/1\.1 200 /);
    } finally {
      await started.stop();
      for (const replica of replicas) await replica.close();
    }
  });

  for (const [name, text] of SHIPPED) {
    it(`nginx.conf for ${name} sends the errors of nginx as JSON`, async () => {
      const nobody = `127.0.0.1:${await freePort()}`;
      const started = await startNginx(text, { '10.0.0.11:8080': nobody, '127.0.0.1:8080': nobody });
      const long = 'x'.repeat(40_000);
      try {
        const { port } = started;
        const cases: readonly [response: string, status: number, code: string][] = [
          [await get(port, '/', '-H', 'Host: a b'), 400, 'invalid_parameter'],
          [await get(port, `/${long}`), 414, 'uri_too_long'],
          [await get(port, '/', '-H', `X-Long: ${long}`), 431, 'headers_too_large'],
        ];
        for (const [response, status, code] of cases) expectJsonError(response, status, code);
        const { stdout } = await run('curl', ['-si', `http://127.0.0.1:${port}/`]);
        expectJsonError(stdout, 400, 'invalid_parameter');
        if (text === ONE_SERVICE) expectJsonError(await get(port), 503, 'service_unavailable');
      } finally {
        await started.stop();
      }
    });
  }

  it('Caddy sends a JSON error if the service does not respond', async function () {
    this.timeout(300_000);
    const caddy = await findTool('caddy').catch((error: Error) => skip(this, error.message));
    const nobody = `127.0.0.1:${await freePort()}`;
    const started = await startServer({
      name: 'caddy',
      program: caddy,
      args: (port, own) => {
        const text = read('config/deploy/tls/Caddyfile')
          .replace('api.example.com {', `{\n\tadmin off\n}\nhttp://127.0.0.1:${port} {`)
          .replace('127.0.0.1:8080', nobody);
        writeFileSync(join(own, 'Caddyfile'), text);
        return ['run', '--adapter', 'caddyfile', '--config', join(own, 'Caddyfile')];
      },
      env: () => ({ HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }),
      url: (port) => `http://127.0.0.1:${port}`,
      ready: async (port) => void (await fetch(`http://127.0.0.1:${port}/`)),
    });
    try {
      const { stdout } = await run('curl', ['-si', `${started.url}/api/v1/ready`]);
      expectJsonError(stdout, 503, 'service_unavailable');
      expect(stdout).to.match(/^retry-after: 2\r$/im);
    } finally {
      await started.stop();
    }
  });

  it('Caddy accepts its file, which is formatted with caddy fmt', async function () {
    this.timeout(300_000);
    const caddy = await findTool('caddy').catch((error: Error) => skip(this, error.message));
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const path = at('config/deploy/tls/Caddyfile');
    await run(caddy, ['validate', '--adapter', 'caddyfile', '--config', path], { env });
    expect((await run(caddy, ['fmt', path], { env })).stdout).to.equal(read('config/deploy/tls/Caddyfile'));
  });

  it('nginx keeps connections to the service open, and sends its own errors as JSON without its version', () => {
    expect(REPLICAS)
      .to.match(/^ {2}keepalive \d+;/m)
      .and.match(/error_page 502 504 =503 \/\.nginx\/503;/);
    expect(REPLICAS.match(/^ {2}server_tokens off;/gm)).to.have.length(2);
  });

  it('both set HSTS, and pass on the client address', () => {
    for (const file of ['nginx.conf', 'Caddyfile']) {
      expect(read(`config/deploy/tls/${file}`)).to.match(/Strict-Transport-Security "max-age=31536000"/);
      expect(read(`config/deploy/tls/${file}`)).to.match(/X-Forwarded-For (\$remote_addr;|\{remote_host\})/);
    }
  });

  it('systemd accepts the unit, whose stop timeout is longer than a drain', async function () {
    if (!onPath('systemd-analyze')) skip(this, 'there is no systemd-analyze');
    const file = join(folder, 'metro-forecast.service');
    // systemd-analyze requires the program to exist, but /usr/bin/node may be missing on this machine.
    await writeFile(
      file,
      read('config/deploy/systemd/metro-forecast.service').replaceAll('/usr/bin/node', process.execPath),
    );
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', file]);
    expect(`${stdout}${stderr}`).to.not.contain('metro-forecast.service');
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(read('config/deploy/systemd/metro-forecast.service'))!;
    expect(Number(seconds) * 1000).to.be.at.least(1000 + 10_000 + CLOSING_MS);
  });
});

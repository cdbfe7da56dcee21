/** The files for a machine of one's own are taken by the programs that they are for. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { findTool, nginx, onPath } from '../support/binaries.js';
import { at, CLOSING_MS, read } from '../support/shipped-files.js';
import { skip } from '../support/skip.js';

const run = promisify(execFile);

describe('config/tls and config/systemd', function () {
  this.timeout(60_000);
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'proxies-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('nginx takes its file, with a certificate', async () => {
    const [key, certificate] = ['key.pem', 'certificate.pem'].map((name) => join(folder, name));
    const subject = ['-subj', '/CN=api.example.com', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    await run('openssl', ['req', '-x509', '-nodes', '-days', '1', ...subject, '-keyout', key!, '-out', certificate!]);
    const server = read('config/tls/nginx.conf')
      .replace(/ssl_certificate \S+;/, `ssl_certificate ${certificate};`)
      .replace(/ssl_certificate_key \S+;/, `ssl_certificate_key ${key};`)
      .replace(/listen (\S*?)(80|443)\b/g, 'listen $11$2');
    const file = join(folder, 'nginx.conf');
    await writeFile(file, `pid ${folder}/pid; events {} http { access_log off; ${server} }`);
    const { stderr } = await run(await nginx(), ['-t', '-p', folder, '-e', 'stderr', '-c', file]);
    expect(stderr).to.contain('test is successful').and.not.contain('[warn]');
  });

  it('Caddy takes its file, which is formatted as Caddy formats', async function () {
    this.timeout(300_000);
    const caddy = await findTool('caddy').catch((error: Error) => skip(this, error.message));
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const path = at('config/tls/Caddyfile');
    await run(caddy, ['validate', '--adapter', 'caddyfile', '--config', path], { env });
    expect((await run(caddy, ['fmt', path], { env })).stdout).to.equal(read('config/tls/Caddyfile'));
  });

  it('both say that browsers are to come by TLS alone, and who the caller is', () => {
    for (const file of ['nginx.conf', 'Caddyfile']) {
      expect(read(`config/tls/${file}`)).to.match(/Strict-Transport-Security "max-age=31536000"/);
      expect(read(`config/tls/${file}`)).to.match(/X-Forwarded-For (\$remote_addr;|\{remote_host\})/);
    }
  });

  it('systemd takes the unit, which leaves a drain the time that it may take', async function () {
    if (!onPath('systemd-analyze')) skip(this, 'there is no systemd-analyze');
    const file = join(folder, 'metro-forecast.service');
    // Of this machine, where the package is not installed.
    await writeFile(file, read('config/systemd/metro-forecast.service').replaceAll('/usr/bin/node', process.execPath));
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', file]);
    expect(`${stdout}${stderr}`).to.not.contain('metro-forecast.service');
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(read('config/systemd/metro-forecast.service'))!;
    expect(Number(seconds) * 1000).to.be.at.least(1000 + 10_000 + CLOSING_MS);
  });
});

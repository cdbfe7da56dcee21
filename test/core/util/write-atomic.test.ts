import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { fileErrorReason } from '../../../core/util/error-reason.js';
import { makeFolder, writeFileAtomic } from '../../../core/util/write-atomic.js';
import { giveAway, needsRoot, ownerOf, runAsOther } from '../../support/other-user.js';
import { smallDisk } from '../../support/small-disk.js';

const rejection = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => expect.fail('The write did not fail.'),
    (error: Error) => error,
  );

describe('writeFileAtomic(path, content)', () => {
  let folder: string;
  let path: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atomic-'));
    path = join(folder, 'file');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('replaces the content', async () => {
    await writeFileAtomic(path, 'one');
    await writeFileAtomic(path, 'two');
    expect(await readFile(path, 'utf8')).to.equal('two');
    expect(await readdir(folder)).to.deep.equal(['file']);
  });

  it('changes nothing and leaves no file behind if it fails', async () => {
    await writeFile(path, 'old');
    const beforeCommit = () => Promise.reject(new Error('lost'));
    expect((await rejection(writeFileAtomic(path, 'new', { beforeCommit }))).message).to.equal('lost');
    expect(await readFile(path, 'utf8')).to.equal('old');
    expect(await readdir(folder)).to.deep.equal(['file']);
  });

  it('keeps permissions that the umask would remove', async () => {
    await writeFile(path, 'old');
    await chmod(path, 0o666);
    await writeFileAtomic(path, 'new');
    expect(await ownerOf(path)).to.match(/ 666$/);
  });

  it('gives a new file the permissions of a related file', async () => {
    await writeFile(path, 'old');
    await chmod(path, 0o640);
    await writeFileAtomic(`${path}.used`, 'new', { mode: 0o600, like: path });
    expect(await ownerOf(`${path}.used`)).to.match(/ 640$/);
  });

  for (const exists of [true, false]) {
    it(`follows a symbolic link to a file that ${exists ? 'exists' : 'does not exist yet'}`, async () => {
      await mkdir(join(folder, 'elsewhere'));
      await symlink('elsewhere/target', path);
      if (exists) await writeFile(path, 'old');
      await writeFileAtomic(path, 'new');
      expect(await readlink(path)).to.equal('elsewhere/target');
      expect(await readFile(join(folder, 'elsewhere/target'), 'utf8')).to.equal('new');
      expect(await readdir(join(folder, 'elsewhere'))).to.deep.equal(['target']);
    });
  }

  it('rejects a directory, a device and a cycle of links', async () => {
    await symlink('/dev/null', join(folder, 'device'));
    await symlink('circle', join(folder, 'circle'));
    expect(fileErrorReason(await rejection(writeFileAtomic(folder, 'new')))).to.match(/it is a folder/);
    expect(fileErrorReason(await rejection(writeFileAtomic(join(folder, 'device'), 'new')))).to.match(/a device/);
    expect(fileErrorReason(await rejection(writeFileAtomic(join(folder, 'circle'), 'new')))).to.match(/loop/);
    expect((await readdir(folder)).sort()).to.deep.equal(['circle', 'device']);
  });

  it('keeps the old content on a full disk', async function () {
    await smallDisk(this, folder, async () => {
      await writeFile(path, 'old');
      const error = await rejection(writeFileAtomic(path, 'x'.repeat(2 ** 20)));
      expect(fileErrorReason(error)).to.equal('the disk is full');
      expect(await readFile(path, 'utf8')).to.equal('old');
      expect(await readdir(folder)).to.deep.equal(['file']);
    });
  });

  describe('as root', () => {
    before(function () {
      needsRoot(this);
    });

    it('keeps the owner, group and permissions of a file', async () => {
      await writeFile(path, 'old');
      await giveAway(path);
      await chmod(path, 0o640);
      await writeFileAtomic(path, 'new');
      expect(await ownerOf(path)).to.equal('65534:65534 640');
    });

    it('gives new files and folders the owner of their parent folder', async () => {
      await giveAway(folder);
      await writeFileAtomic(path, 'new', { mode: 0o600 });
      expect(await ownerOf(path)).to.equal('65534:65534 600');
      await makeFolder(join(folder, 'a/b'));
      expect(await ownerOf(join(folder, 'a'))).to.match(/^65534:65534/);
      expect(await ownerOf(join(folder, 'a/b'))).to.match(/^65534:65534/);
    });

    it('as another user, changes nothing if the owner cannot be kept, and prints the command to run', async () => {
      await giveAway(folder);
      await writeFile(path, 'old');
      await chmod(path, 0o666);
      const module = new URL('../../../core/util/write-atomic.js', import.meta.url).href;
      const script = `import { writeFileAtomic } from ${JSON.stringify(module)};
        await writeFileAtomic(${JSON.stringify(path)}, 'new').catch((error) => { console.log(error.reason); process.exit(3) });`;
      const { code, output } = await runAsOther(['--input-type=module', '-e', script]);
      expect(output).to.include("sudo -u '#0'");
      expect(code).to.equal(3);
      expect(await readFile(path, 'utf8')).to.equal('old');
      expect(await readdir(folder)).to.deep.equal(['file']);
      expect(await ownerOf(path)).to.equal('0:0 666');
    });
  });
});

describe('makeFolder(path)', () => {
  it('rejects a path in which no folder can be created, such as a path under /proc', async () => {
    const error = await makeFolder('/proc/none/below').catch((reason: NodeJS.ErrnoException) => reason);
    expect((error as NodeJS.ErrnoException).code).to.equal('ENOENT');
  });
});

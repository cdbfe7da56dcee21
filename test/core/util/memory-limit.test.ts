import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { memoryLimit } from '../../../core/util/memory-limit.js';

const MIB = 2 ** 20;
const UNLIMITED = '9223372036854771712';

describe('memoryLimit(root)', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'memory-limit-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const limitWith = (files: Readonly<Record<string, string>>): number => {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), `${content}\n`);
    }
    return memoryLimit(root);
  };

  it('is the total memory of the machine if there are no control groups', () => {
    expect(memoryLimit(root)).to.equal(totalmem());
  });

  it('is the limit of a version 2 group, or of a group that contains it', () => {
    const files = {
      'proc/self/cgroup': '0::/system.slice/api.service',
      'sys/fs/cgroup/system.slice/memory.max': 'max',
    };
    expect(limitWith(files)).to.equal(totalmem());
    expect(limitWith({ 'sys/fs/cgroup/system.slice/memory.max': `${512 * MIB}` })).to.equal(512 * MIB);
    expect(limitWith({ 'sys/fs/cgroup/system.slice/api.service/memory.max': `${256 * MIB}` })).to.equal(256 * MIB);
    expect(limitWith({ 'sys/fs/cgroup/system.slice/memory.max': `${128 * MIB}` })).to.equal(128 * MIB);
  });

  it('is the limit of the container, even if its groups have the paths of the host', () => {
    const group = '/docker/0a1b';
    expect(limitWith({ 'proc/self/cgroup': `0::${group}`, 'sys/fs/cgroup/memory.max': `${300 * MIB}` })).to.equal(
      300 * MIB,
    );
  });

  it('is the limit of a version 1 group', () => {
    const files = {
      'proc/self/cgroup': '9:name=systemd:/\n4:memory,hugetlb:/api\n3:cpuset:/other\n0::/',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': UNLIMITED,
      'sys/fs/cgroup/memory/other/memory.limit_in_bytes': `${64 * MIB}`,
      'sys/fs/cgroup/memory/api/memory.limit_in_bytes': `${400 * MIB}`,
    };
    expect(limitWith(files)).to.equal(400 * MIB);
  });
});

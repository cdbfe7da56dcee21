/** Whether this Node is one that the package supports. */
import { engines } from '../../core/package-root.js';
import type { Finding } from './finding.js';

/** @param version as in `process.versions.node` */
export const checkNode = (version: string): Finding => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = engines.node.replace(/^>=/, '').split('.').map(Number);
  const supported = major > leastMajor || (major === leastMajor && minor >= leastMinor);
  const message = `${version}, and ${engines.node} is needed`;
  return supported
    ? { check: 'node', state: 'ok', message }
    : { check: 'node', state: 'failed', message, advice: ['install a current LTS release of Node.js'] };
};

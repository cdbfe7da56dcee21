/** Part of `npm run build`. Deletes compiled files without a source file, so that deleted or moved tests do not run. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');

const entries = existsSync(dist) ? readdirSync(dist, { recursive: true, withFileTypes: true }) : [];
for (const entry of entries) {
  const built = join(entry.parentPath, entry.name);
  const source = relative(dist, built).replace(/(\.d)?(\.ts|\.js)(\.map)?$/, '.ts');
  if (source.endsWith('.ts') && !existsSync(join(root, source))) rmSync(built);
}

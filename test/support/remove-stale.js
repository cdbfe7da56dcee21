/** Compiled files without a source file are deleted, so that deleted or moved tests do not run. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const entries = existsSync('dist') ? readdirSync('dist', { recursive: true, withFileTypes: true }) : [];
for (const entry of entries) {
  const built = join(entry.parentPath, entry.name);
  const source = built.slice('dist/'.length).replace(/(\.d)?(\.ts|\.js)(\.map)?$/, '.ts');
  if (source.endsWith('.ts') && !existsSync(source)) rmSync(built);
}

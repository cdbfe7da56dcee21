// `npm publish` runs this file, which fails if package.json still contains placeholders.
import { readFileSync } from 'node:fs';

const PLACEHOLDER = 'OWNER';
const manifest = JSON.parse(readFileSync(process.argv[2] ?? 'package.json', 'utf8'));
const left = ['repository', 'bugs', 'homepage', 'author'].filter(
  (name) => !manifest[name] || JSON.stringify(manifest[name]).includes(PLACEHOLDER),
);
if (left.length > 0) {
  console.error(`package.json: replace the placeholder ${PLACEHOLDER} in ${left.join(', ')}.`);
  process.exitCode = 1;
}

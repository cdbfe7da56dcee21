/** Part of `npm run lint`. Rejects unclear words in comments, messages and pages. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const WORDS = [
  [/\b(?:tells?|told|telling)\b/i, 'report, print, return, show'],
  [/\banew\b/i, 'again'],
  [/\bbesides?\b/i, 'next to, in addition to, other than'],
  [/\b(?:whoever|nobody|somebody|anybody)\b/i, 'name the person or program'],
  [/\bthose (?:that|who|which|of)\b/i, 'name the things'],
  [/\bin force\b/i, 'active, in effect'],
  [/\bby (?:itself|themselves)\b/i, 'on its own, automatically'],
  [/\b(?:is|are|has) gone\b/i, 'was deleted, disconnected, expired'],
  [/\b(?:is|was|are) away\b/i, 'is unreachable'],
  [/\bturn(?:s|ed)? away\b/i, 'reject'],
  [/\b(?:lets?|letting) (?:\w+ )?pass\b/i, 'admit, allow'],
  [/\bstands? (?:in|at|for|there|beside|before|after|as)\b/i, 'is, appears'],
  [/\bbeg[aiu]n(?:s)? anew\b/i, 'start again'],
  [/\bmade of\b/i, 'built from, derived from'],
];

const CODE = /\.(?:ts|js|mjs|cjs|lua|css)$/;
const COMMENT = { lua: /--[^\n]*/g, other: /\/\*[\s\S]*?\*\/|(?<![:"'])\/\/[^\n]*/g };
const MESSAGE = /'(?:[^'\\\n]|\\.){25,}'|`(?:[^`\\\n]|\\.){25,}`|"(?:[^"\\\n]|\\.){25,}"/g;

/** Replaces a match with spaces. Keeps line breaks, so that line numbers do not change. */
const blank = (text) => text.replace(/[^\n]/g, ' ');

/** Replaces code with spaces, so that only prose is left. The length of the text does not change. */
const proseOf = (path, text) => {
  if (path.endsWith('.md')) return text.replace(/```[\s\S]*?```/g, blank).replace(/`[^`\n]*`/g, blank);
  const pieces = [];
  const keep = (match, ...rest) => {
    pieces.push([rest.at(-2), match]);
    return blank(match);
  };
  const rest = text.replace(path.endsWith('.lua') ? COMMENT.lua : COMMENT.other, keep);
  rest.replace(MESSAGE, (match, at) => {
    if (match.split(' ').length > 4) pieces.push([at, match]);
    return match;
  });
  let prose = blank(text);
  for (const [at, piece] of pieces) {
    prose = prose.slice(0, at) + piece.replace(/`[^`\n]*`/g, blank) + prose.slice(at + piece.length);
  }
  return prose;
};

const EXEMPT = new Set(['tools/check-prose.js']);
const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter(
    (path) => (CODE.test(path) || path.endsWith('.md')) && !EXEMPT.has(path) && !path.startsWith('bench/results/'),
  );

let found = 0;
for (const path of files) {
  const lines = proseOf(path, readFileSync(path, 'utf8')).split('\n');
  for (const [index, line] of lines.entries()) {
    for (const [pattern, instead] of WORDS) {
      const match = pattern.exec(line);
      if (!match) continue;
      found++;
      console.error(`${path}:${index + 1}: "${match[0]}": write ${instead}`);
    }
  }
}
if (found > 0) {
  console.error(`${found} phrases to rewrite.`);
  process.exitCode = 1;
}

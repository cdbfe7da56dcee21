import { expect } from 'chai';
import { parseSnippets } from './snippets.js';

describe('parseSnippets(markdown)', () => {
  it('finds blocks with language, info, heading and line, even in lists', () => {
    const text = '# Page\n\n```sh start now\na\n\nb\n```\n\n## Next\n\n- item\n\n  ````\n  ```\n    c\n  ````\n';
    expect(parseSnippets(text)).to.deep.equal([
      { language: 'sh', info: 'start now', code: 'a\n\nb\n', heading: 'Page', line: 3 },
      { language: '', info: '', code: '```\n  c\n', heading: 'Next', line: 13 },
    ]);
  });

  it('does not mistake a comment in a block for a heading', () => {
    const [first, second] = parseSnippets('# Page\n```sh\n# comment\n```\n```sh\nx\n```\n');
    expect([first?.heading, second?.heading]).to.deep.equal(['Page', 'Page']);
  });

  it('rejects a block that is not closed, and names its line', () => {
    expect(() => parseSnippets('text\n```sh\na\n', 'page.md')).to.throw('page.md:2: this code block does not end');
  });
});

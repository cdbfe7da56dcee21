import { expect } from 'chai';
import { commandLine } from '../../cli/options.js';

describe('commandLine(config, ...words)', () => {
  const saved = process.argv[1]!;
  afterEach(() => {
    process.argv[1] = saved;
  });

  for (const [path, command] of [
    ['/work/node_modules/.bin/metro-forecast', 'npx metro-forecast'],
    ['/work/node_modules/.bin/metro-forecast-api', 'npx metro-forecast'],
    ['/usr/local/bin/metro-forecast', 'metro-forecast'],
    ['/work/node_modules/.bin/mocha', 'metro-forecast'],
  ] as const)
    it(`returns a command that starts with ${command} for ${path}`, () => {
      process.argv[1] = path;
      expect(commandLine('my api.json', 'start')).to.equal(`${command} --config 'my api.json' start`);
    });
});

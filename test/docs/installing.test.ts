import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { createProgram } from '../../cli/main.js';
import { RELOADED } from '../../core/app/running-settings.js';
import { packageRoot } from '../../core/util/package.js';
import { namedVariables } from '../../product.js';

const text = readFileSync(join(packageRoot, 'docs/guides/installing.md'), 'utf8');

const helpOf = async (name: string): Promise<string> => {
  const command = (await createProgram()).commands.find((each) => each.name() === name)!;
  let help = '';
  command.configureOutput({ writeOut: (part) => (help += part) });
  command.outputHelp();
  return help;
};

describe('docs/guides/installing.md and --help', () => {
  it('list every well-known variable, and the variable for its file', async () => {
    const help = await helpOf('config');
    for (const { variable, secret } of namedVariables) {
      for (const name of [variable, ...(secret ? [`${variable}_FILE`] : [])]) {
        expect(text).to.contain(`\`${name}`);
        expect(help).to.match(new RegExp(`^ {2}${name} `, 'm'));
      }
    }
    expect(text).to.contain('`METRO__..._FILE`');
    expect(help).to.match(/^ {2}METRO__\.\.\._FILE /m);
  });

  it('list every setting that SIGHUP reloads', async () => {
    const help = await helpOf('start');
    for (const path of RELOADED) {
      expect(text).to.contain(`\`${path}\``);
      expect(help).to.contain(`  ${path}\n`);
    }
  });

  it('runs commands as the user of the systemd unit, with its directory and configuration', () => {
    const unit = readFileSync(join(packageRoot, 'config/deploy/systemd/metro-forecast.service'), 'utf8').split('\n');
    const [command] = /^metro\(\) \{[\s\S]*?\n\}/m.exec(text)!;
    const properties = [...command.matchAll(/--property=(\S+)/g)].map(([, property]) => property!);
    expect(properties.join()).to.match(/DynamicUser=yes.*User=\w.*StateDirectory=\w.*WorkingDirectory=\//);
    expect(unit).to.include.members(properties);
    const [, config] = /--setenv=(METRO_CONFIG=\S+)/.exec(command)!;
    expect(unit.find((line) => line.startsWith('Environment='))).to.contain(config);
    const [, program] = /^ +(\/usr\/bin\/node \S+) "\$@"$/m.exec(command)!;
    expect(unit).to.include(`ExecStart=${program} start`);
  });
});

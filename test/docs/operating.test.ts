/** What docs/operating.md and the help of commands list is what the code has: nothing is left out. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { namedVariables } from '../../app/load-config.js';
import { RELOADED } from '../../app/running-settings.js';
import { createProgram } from '../../cli/main.js';
import { serviceSchema } from '../../core/config/schema.js';
import { packageRoot } from '../../core/files/package.js';

const text = readFileSync(join(packageRoot, 'docs/operating.md'), 'utf8');

const helpOf = async (name: string): Promise<string> => {
  const command = (await createProgram()).commands.find((each) => each.name() === name)!;
  let help = '';
  command.configureOutput({ writeOut: (part) => (help += part) });
  command.outputHelp();
  return help;
};

describe('docs/operating.md and --help', () => {
  it('name every variable with a well-known name, and the file that may hold it', async () => {
    const help = await helpOf('config');
    for (const { variable, secret } of namedVariables) {
      for (const name of [variable, ...(secret ? [`${variable}_FILE`] : [])]) {
        expect(text).to.contain(`\`${name}\``);
        expect(help).to.match(new RegExp(`^ {2}${name} `, 'm'));
      }
    }
    expect(text).to.contain('`METRO__..._FILE`');
    expect(help).to.match(/^ {2}METRO__\.\.\._FILE /m);
  });

  it('name every setting that SIGHUP changes', async () => {
    const help = await helpOf('start');
    for (const path of RELOADED) {
      expect(text).to.contain(`\`${path}\``);
      expect(help).to.contain(`  ${path}\n`);
    }
  });

  it('names every setting of who the service is', () => {
    const [paragraph] = /^`service` is who[\s\S]*?\n\n/m.exec(text)!;
    for (const name of Object.keys(serviceSchema.properties)) expect(paragraph).to.contain(`\`${name}\``);
  });
});

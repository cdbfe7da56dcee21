import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { configSchema } from '../../../core/config/schema.js';
import { packageRoot } from '../../../core/util/package.js';
import { compileSchema } from '../../../core/validation/compile-schema.js';

const read = (name: string) => JSON.parse(readFileSync(join(packageRoot, 'config', name), 'utf8'));

interface Node {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Node>>;
}

const settings = (node: Node, path: string): [string, Node][] =>
  Object.entries(node.properties ?? {}).flatMap(([name, child]) => [
    [`${path}${name}`, child] as [string, Node],
    ...settings(child, `${path}${name}.`),
  ]);

describe('the configuration schema', () => {
  it('accepts the embedded configuration, which names the schema file next to it', () => {
    const embedded = read('default.json');
    expect(compileSchema(configSchema)(embedded)).to.equal(true);
    expect(embedded.$schema).to.equal('./schema.json');
  });

  it('describes every setting', () => {
    const silent = settings(configSchema as Node, '').filter(([, node]) => !node.description);
    expect(silent.map(([path]) => path)).to.deep.equal([]);
  });

  it('has valid defaults', () => {
    const config = { adapter: 'a', plugins: ['p'] };
    expect(compileSchema(configSchema, { useDefaults: true })(config)).to.equal(true);
    expect(compileSchema(configSchema)(config)).to.equal(true);
    expect(config).to.have.nested.property('server.port', 8080);
    expect(config).to.have.nested.property('limits.requestsPerMinute', 600);
    expect(config).to.have.nested.property('auth.keys.use', 'file');
  });

  it('keeps idle connections longer than 60 seconds, the idle timeout of common load balancers', () => {
    const { server } = configSchema.properties as unknown as {
      server: { properties: Record<string, { default: number }> };
    };
    expect(server.properties['keepAliveTimeoutMs']?.default).to.be.above(60_000);
  });
});

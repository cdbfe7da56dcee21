/** frictionless and mlcroissant validate the dataset descriptions of a service, and read the data. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { request } from '../../support/http-client.js';
import { needPythonPackage } from '../../support/python-package.js';
import type { TestApp } from '../../support/test-app.js';
import { startPublic } from './public-service.js';

const FRICTIONLESS = `
import json, sys
from frictionless import Package, system
with system.use_context(trusted=True):
    report = Package(sys.argv[1]).validate()
print(json.dumps([task.name for task in report.tasks]))
for error in report.flatten(["title", "fieldName", "message"]):
    print(error)
`;

const CROISSANT = `
import sys
import mlcroissant as mlc
dataset = mlc.Dataset(jsonld=sys.argv[1])
print("errors:", dataset.metadata.ctx.issues.errors)
for record_set in dataset.metadata.record_sets:
    for record in dataset.records(record_set.uuid):
        print(record_set.uuid, len(record))
        break
`;

describe('descriptions of the data', function () {
  this.timeout(240_000);
  let service: TestApp;

  before(async () => {
    service = await startPublic({});
  });
  after(() => service?.close());

  it('are valid for frictionless, which reads every list', async function () {
    const python = await needPythonPackage(this, 'frictionless');
    const [names = '', ...errors] = (await python(['-c', FRICTIONLESS, `${service.origin}/datapackage.json`])).split(
      '\n',
    );
    expect(JSON.parse(names)).to.include.members(['markets', 'series', 'forecast_runs']);
    expect(errors.filter(Boolean)).to.deep.equal([]);
  });

  it('are valid for mlcroissant, which reads every list', async function () {
    const python = await needPythonPackage(this, 'mlcroissant');
    const folder = await mkdtemp(join(tmpdir(), 'metro-forecast-croissant-'));
    try {
      const file = join(folder, 'dataset.json');
      await writeFile(file, (await request(`${service.origin}/dataset.jsonld`)).text);
      const output = await python(['-c', CROISSANT, file]);
      expect(output)
        .to.match(/^errors: (set\(\)|\[\])/)
        .and.to.match(/^markets 1\d$/m);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

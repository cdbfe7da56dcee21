import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { BSON, type Collection } from 'mongodb';
import { failsWith } from '../../adapters/conformance/expect.js';
import type { Connection } from '../../adapters/mongo/connection.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { connectionTo, openDatabase, type TestDatabase } from './mongo-database.js';

describe('Connection of the MongoDB adapter', () => {
  for (const uri of ['mongodb://127.0.0.1:1/prices', 'mongodb://127.0.0.1:1/prices?w=1']) {
    it(`writes for a majority, and reads from the same database: ${uri}`, () => {
      const { db, readDb } = connectionTo({ uri });
      expect(db.writeConcern).to.deep.include({ w: 'majority' });
      expect([db.databaseName, readDb.databaseName]).to.deep.equal(['prices', 'prices']);
      for (const database of [db, readDb]) expect(database.readPreference?.mode).to.equal('primary');
    });
  }

  it('sends no write concern when it reads for a request, because that would slow down every request', () => {
    expect(connectionTo({ uri: 'mongodb://127.0.0.1:1' }).readDb.writeConcern).to.equal(undefined);
  });
});

describe('Connection.connect() of the MongoDB adapter', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mongo-files-'));
    execFileSync('mkfifo', [join(folder, 'pipe.pem')]);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const reasons = [
    ['pipe.pem', 'it is a pipe, a socket or a device; name a regular file'],
    ['missing.pem', 'it does not exist, or its folder does not'],
    ['.', 'it is a folder; name a file in it'],
  ] as const;
  for (const parameter of ['tlsCAFile', 'tlsCRLFile', 'tlsCertificateKeyFile']) {
    for (const [name, reason] of reasons) {
      it(`rejects ${parameter}=${name} with the reason, and does not wait for the file`, async () => {
        const path = join(folder, name);
        const connection = connectionTo({ uri: `mongodb://127.0.0.1:1/?tls=true&${parameter}=${path}` });
        try {
          const error = await failsWith('unavailable', () => connection.connect());
          expect(error.message).to.equal(
            `MongoDB could not connect: ${parameter} of the connection string: cannot read ${path}: ${reason}`,
          );
        } finally {
          await connection.close();
        }
      });
    }
  }
});

describe('Connection.find() of the MongoDB adapter', () => {
  interface Price {
    readonly _id: number;
    readonly city: string;
    readonly price?: number;
  }

  let database: TestDatabase;
  let proxy: TcpProxy;
  let connection: Connection;
  let prices: Collection<Price>;

  before(async () => {
    database = await openDatabase();
    const { db } = database.connection;
    await db.collection<Price>('prices').insertMany([
      { _id: 1, city: 'Houston', price: 340 },
      { _id: 2, city: 'Akron', price: 150 },
    ]);
    await db.collection<Price>('prices').createIndex({ city: 1 });
    const { hosts } = db.client.options;
    proxy = await startTcpProxy(hosts[0]!.port!);
    const uri = `mongodb://127.0.0.1:${proxy.port}/${db.databaseName}?directConnection=true`;
    connection = connectionTo({ uri, operationMs: 10_000 });
    await connection.connect();
    prices = connection.readDb.collection('prices');
  });

  after(async () => {
    await connection?.close();
    await proxy?.close();
    await database?.end();
  });

  const find = async (city: string, hint = { city: 1 } as object) => {
    const options = { projection: { _id: 0 }, hint, limit: 1 };
    const { documents, isCut } = await connection.find('read a price', prices, { city }, options);
    expect(isCut).to.equal(false);
    return Object.values(BSON.deserialize(documents));
  };

  it('resolves with the requested fields of the matching documents', async () => {
    expect(await find('Houston')).to.deep.equal([{ city: 'Houston', price: 340 }]);
  });

  it('resolves with no documents if none matches', async () => {
    expect(await find('Atlantis')).to.deep.equal([]);
  });

  it('rejects with unavailable if MongoDB returns an error', async () => {
    const error = await failsWith('unavailable', () => find('Houston', { price: 1 }));
    expect(error.message).to.match(/^MongoDB could not read a price: .*hint/s);
  });

  it('repeats a read whose connection closes midway', async () => {
    proxy.inject({ latencyMs: 300 });
    const found = find('Akron');
    await delay(100);
    proxy.mend();
    expect(await found).to.deep.equal([{ city: 'Akron', price: 150 }]);
  });
});

/** What a connection asks of MongoDB, whatever its connection string says. */
import { expect } from 'chai';
import { connectionTo } from './mongo-database.js';

describe('Connection of the MongoDB adapter', () => {
  for (const uri of ['mongodb://127.0.0.1:1/prices', 'mongodb://127.0.0.1:1/prices?w=1']) {
    it(`writes for a majority, and reads answers from the same database: ${uri}`, () => {
      const { db, answers } = connectionTo({ uri });
      expect(db.writeConcern).to.deep.include({ w: 'majority' });
      expect([db.databaseName, answers.databaseName]).to.deep.equal(['prices', 'prices']);
      for (const database of [db, answers]) expect(database.readPreference?.mode).to.equal('primary');
    });
  }

  it('gives reads of answers no write concern, which would make each of them slower', () => {
    expect(connectionTo({ uri: 'mongodb://127.0.0.1:1' }).answers.writeConcern).to.equal(undefined);
  });
});

import { Connection } from '../../adapters/mongo/connection.js';
import { type ConnectionOptions, connectionOptions, type Given, withDefaults } from '../../adapters/mongo/options.js';
import { mongoForTests, uniqueName } from '../support/services.js';

export interface TestDatabase {
  readonly connection: Connection;
  end(): Promise<void>;
}

export const connectionTo = (options: Given<ConnectionOptions>): Connection =>
  new Connection(withDefaults<ConnectionOptions>(connectionOptions, options));

export const openDatabase = async (): Promise<TestDatabase> => {
  const { url: uri } = await mongoForTests();
  const connection = connectionTo({ uri, database: uniqueName('part'), operationMs: 10_000 });
  await connection.connect();
  return {
    connection,
    async end() {
      await connection.db.dropDatabase();
      await connection.close();
    },
  };
};

/** Every operation on a closed connection fails immediately with an error that names the operation. */
export const closedConnection = async (): Promise<Connection> => {
  const { connection, end } = await openDatabase();
  await end();
  return connection;
};

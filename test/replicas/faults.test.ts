import { MongoClient } from 'mongodb';
import type { Replicas } from '../support/replicas.js';
import type { Server } from '../support/services.js';
import { describeFaults, type Fault, withRedis } from './fault-table.js';

const stepDown = async ({ mongo }: Replicas): Promise<void> => {
  const client = new MongoClient(mongo.url, { directConnection: true, serverSelectionTimeoutMS: 2000 });
  await client.db('admin').command({ replSetStepDown: 2, force: true });
  await client.close();
};

const FAULTS: readonly Fault[] = [
  {
    name: 'Redis killed',
    affects: 'redis',
    visible: true,
    start: ({ redis }) => redis.kill(),
    end: ({ redis }) => redis.restart(),
  },
  {
    name: 'Redis frozen',
    affects: 'redis',
    visible: true,
    start: ({ redis }) => redis.freeze(),
    end: ({ redis }) => redis.resume(),
  },
  { name: 'Redis restarted', affects: 'redis', visible: false, start: ({ redis }) => redis.restart() },
  {
    name: 'SCRIPT FLUSH',
    affects: 'redis',
    visible: false,
    start: (service) => withRedis(service, (redis) => redis.script('FLUSH')),
  },
  {
    name: 'MongoDB killed',
    affects: 'mongo',
    visible: true,
    start: ({ mongo }) => mongo.kill(),
    end: ({ mongo }) => mongo.restart(),
  },
  {
    name: 'MongoDB frozen',
    affects: 'mongo',
    visible: true,
    start: ({ mongo }) => mongo.freeze(),
    end: ({ mongo }) => mongo.resume(),
  },
  { name: 'MongoDB restarted', affects: 'mongo', visible: false, start: ({ mongo }) => mongo.restart() },
  { name: 'MongoDB primary steps down', affects: 'mongo', visible: false, start: stepDown },
  {
    name: 'a replica killed',
    affects: 'replica',
    visible: false,
    start: ({ replicas }) => (replicas[0] as Server).kill(),
    end: ({ replicas }) => (replicas[0] as Server).restart(),
  },
  {
    name: 'a replica replaced (SIGTERM)',
    affects: 'replica',
    visible: false,
    start: ({ replicas }) => (replicas[0] as Server).kill('SIGTERM'),
    end: ({ replicas }) => (replicas[0] as Server).restart(),
  },
];

describeFaults(
  'of each component',
  FAULTS.map(({ name }) => name),
  async () => ({ faults: FAULTS }),
);

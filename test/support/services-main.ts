/** `npm run services` runs Redis and MongoDB for manual tests, until Ctrl-C. */
import { mongoForTests, redisForTests } from './services.js';

const [redis, mongo] = await Promise.all([redisForTests(), mongoForTests()]);
process.stdout.write(`export REDIS_URL='${redis.url}'\nexport MONGODB_URI='${mongo.url}'\n`);
process.stderr.write('Both run until Ctrl-C. Their data is then deleted.\n');
setInterval(() => undefined, 2 ** 30);

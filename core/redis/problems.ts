interface RedisProblem {
  readonly reason: string;
  readonly advice: string;
}

const PERMISSIONS =
  'Grant the user the permissions that docs/guides/redis.md explains: ACL SETUSER NAME ~api:* +info +ping +select ' +
  '+eval +evalsha +time +hget +hmget +hset +hmset +hdel +hlen +hscan +pexpire +rename +unlink';
const CERTIFICATE = 'Set NODE_EXTRA_CA_CERTS to the CA of the server, and use a host name that its certificate covers.';
const ADDRESS = 'Start Redis, or correct the address in redis.url (REDIS_URL), redis.sentinel or redis.cluster.';

const WRONG_DATABASE = /DB index is out of range|invalid DB index|SELECT is not allowed/;

/**
 * Reasons and advice for errors from Redis. The patterns match the code and message of an error, and the first match
 * wins.
 */
const PROBLEMS: readonly (readonly [pattern: RegExp, reason: string, advice: string])[] = [
  [/\bOOM /, 'Redis is out of memory', "Raise Redis's maxmemory, or remove other data."],
  [/\bNOPERM|user executing the script/, 'The Redis user lacks a permission', PERMISSIONS],
  [/\bNOAUTH/, 'Redis requires a password', 'Add the user and the password to redis.url (REDIS_URL).'],
  [/\bWRONGPASS|invalid password/, 'Redis rejects the user or the password', 'Correct them in redis.url (REDIS_URL).'],
  [
    /\bWRONGTYPE/,
    'A Redis key of this service has a value of another type',
    'Delete the keys that start with redis.keyPrefix, or set another redis.keyPrefix if another program uses them.',
  ],
  [/\bREADONLY/, 'This Redis is a read-only replica', 'Use the address of the primary, or set redis.sentinel.'],
  [
    /\bMISCONF/,
    'Redis cannot save its data, so it rejects writes',
    'Free space on its disk. See the Redis log for details.',
  ],
  [
    /\bNOREPLICAS/,
    'Redis has too few replicas, so it rejects writes',
    'Start its replicas, or lower min-replicas-to-write.',
  ],
  [/\bLOADING/, 'Redis is loading its data', 'Wait until it has finished.'],
  [/\b(CLUSTERDOWN|MOVED|CROSSSLOT)/, 'This Redis is a node of a cluster', 'Check the cluster, and set redis.cluster.'],
  [WRONG_DATABASE, 'Redis has no database with this number', 'Correct it in redis.url.'],
  [
    /unknown command/,
    'Redis does not support a required command',
    'Use Redis 5.0 or later, and do not rename its commands.',
  ],
  [/ENOTFOUND|EAI_AGAIN/, 'The Redis host name cannot be resolved', ADDRESS],
  [
    /WRONG_VERSION_NUMBER|packet length too long/,
    'Redis does not use TLS on this port',
    'Use redis:// instead of rediss://.',
  ],
  [
    /ETIMEDOUT|no connection within/,
    'Redis does not respond',
    `${ADDRESS} If Redis does not use TLS on this port, use redis:// instead of rediss://.`,
  ],
  [/CERT|self.signed|UNABLE_TO_VERIFY/, 'The Redis certificate is not trusted', CERTIFICATE],
  [/Unknown RESP type|Protocol error/, 'The server is not Redis, or it uses TLS', `${ADDRESS} For TLS, use rediss://.`],
  [/connection was lost|Connection is closed/, 'Redis closed the connection', 'If it uses TLS, use rediss://.'],
];

export const isReply = (error: unknown): boolean => (error as Error).name === 'ReplyError';

export const isDatabaseError = (error: unknown): boolean => WRONG_DATABASE.test((error as Error).message);

export const redisProblem = (error: unknown): RedisProblem => {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const found = PROBLEMS.find(([pattern]) => pattern.test(`${code} ${message}`));
  if (found) return { reason: found[1], advice: found[2] };
  return isReply(error)
    ? { reason: 'Redis rejects calls', advice: 'The Redis log may contain details.' }
    : { reason: 'Redis is unreachable', advice: ADDRESS };
};

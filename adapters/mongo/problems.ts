import { MongoServerError, MongoServerSelectionError, type TopologyDescription } from 'mongodb';

const AUTHENTICATION_FAILED = 18;
const UNAUTHORIZED = 13;
const ATLAS_ERROR = 8000;

/** Advice for driver errors that can be recognized only by their messages. */
const ADVICE: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [/ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH/, 'start MongoDB, or correct the address in the connection string'],
  [/ENOTFOUND|EAI_AGAIN|querySrv/, 'correct the host name in the connection string'],
  [/before secure TLS connection|wrong version number/, 'if the server does not use TLS, remove tls=true'],
  [/certificate/, 'set tlsCAFile to the CA of the server, and use a host name that its certificate covers'],
  [/connection .* closed/, 'the server may require tls=true, or it may not be MongoDB'],
];

const topologyOf = (error: unknown): TopologyDescription | undefined =>
  error instanceof MongoServerSelectionError ? error.reason : undefined;

/** Returns true only if no server is reachable. During an election, some servers are reachable. */
export const isUnreachable = (error: unknown): boolean => {
  const servers = [...(topologyOf(error)?.servers.values() ?? [])];
  return servers.length > 0 && servers.every(({ error: cause }) => cause != null);
};

/** True if the server has rejected the credentials, or the user lacks a privilege. */
export const isRejected = (error: unknown): boolean =>
  error instanceof MongoServerError && [AUTHENTICATION_FAILED, UNAUTHORIZED, ATLAS_ERROR].includes(Number(error.code));

/** Returns a reason that starts with a lower-case letter and has no full stop at the end. */
export const mongoReason = (error: unknown): string => {
  const { message: full } = error as Error;
  const message = full.replace(/\.$/, '');
  const topology = topologyOf(error);
  if (topology?.setName && topology.servers.size === 0) {
    return `no server at this address belongs to the replica set "${topology.setName}"; correct replicaSet in the connection string`;
  }
  if (isRejected(error)) {
    return (error as MongoServerError).code === AUTHENTICATION_FAILED
      ? `${message}; correct the user, the password or authSource in the connection string`
      : `${message}; grant the user the role readWrite on this database`;
  }
  const advice = ADVICE.find(([pattern]) => pattern.test(message))?.[1];
  return advice ? `${message}; ${advice}` : full;
};

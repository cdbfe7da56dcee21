/**
 * Partitions: the Redis hashes that contain the windows. One server has one partition, because a call has one key and
 * fewer calls cost less. A cluster has 32, so that its nodes share the work.
 */
import { isAddress } from './callers.js';

const CLUSTER_PARTITIONS = 32;

/** The number comes first in the hash tag: cluster slots of such tags are spread more evenly. */
export const partitionKeys = (prefix: string, isCluster: boolean): string[] =>
  Array.from({ length: isCluster ? CLUSTER_PARTITIONS : 1 }, (_, i) => `${prefix}limits:{${i}-partition}`);

/** The index of a caller's partition. All replicas compute the same one (FNV-1a). */
export const partitionOf = (caller: string, partitions: number): number => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < caller.length; i++) hash = Math.imul(hash ^ caller.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % partitions;
};

/** The hashes of a partition: keys, recent addresses, and earlier addresses. */
export const hashesOf = (key: string): readonly string[] => [key, `${key}:addresses`, `${key}:addresses-before`];

/** The hashes that a call needs. A cluster rejects calls with several keys while it moves them, so most calls have one. */
export const hashesFor = (key: string, callers: readonly { readonly caller: string }[]): readonly string[] =>
  callers.some(({ caller }) => isAddress(caller)) ? hashesOf(key) : [key];

/** What a Redis says of itself: processor time and memory. */
import { Redis } from 'ioredis';

export interface RedisFigures {
  /** Processor time used so far, in seconds. */
  readonly cpuSeconds: number;
  /** Memory in use, in bytes, without the buffers of its clients. */
  readonly dataBytes: number;
}

export const redisFigures = async (url: string): Promise<RedisFigures> => {
  const redis = new Redis(url);
  try {
    const text = await redis.info();
    const figure = (name: string): number =>
      Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(text)?.[1] ?? Number.NaN);
    return {
      cpuSeconds: figure('used_cpu_user') + figure('used_cpu_sys'),
      dataBytes: figure('used_memory') - figure('mem_clients_normal'),
    };
  } finally {
    redis.disconnect();
  }
};

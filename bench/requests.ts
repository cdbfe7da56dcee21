import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatRequest, type Message } from './client.js';
import { bearer } from './service.js';

interface PlannedRequest extends Message {
  readonly key: string;
  readonly closes?: boolean;
  readonly fails?: boolean;
}

export interface RequestList {
  readonly file: string;
  /**
   * Returns how many of the first `count` requests must get an error. The list is repeated if `count` exceeds its
   * length.
   */
  errorsAmong(count: number): number;
}

const requestText = ({ key, headers = {}, closes = false, fails, ...message }: PlannedRequest): string => {
  const own = { Authorization: bearer(key), Accept: 'application/json' };
  return formatRequest({ ...message, headers: { ...own, ...headers, ...(closes && { Connection: 'close' }) } });
};

export const writeRequests = async (folder: string, requests: readonly PlannedRequest[]): Promise<RequestList> => {
  const file = join(await mkdtemp(join(folder, 'requests-')), 'list');
  await writeFile(file, requests.map(requestText).join('\0'));
  const errors = new Uint32Array(requests.length + 1);
  for (const [i, { fails }] of requests.entries()) errors[i + 1] = errors[i]! + Number(fails ?? false);
  return {
    file,
    errorsAmong: (count) => {
      const { length } = requests;
      return Math.floor(count / length) * errors[length]! + errors[count % length]!;
    },
  };
};

/** Requests made beforehand and kept in a file, from which the load generators send them one after the other. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface PlannedRequest {
  readonly path: string;
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Closes the connection after the response, so that the next request needs a fresh one. */
  readonly closes?: boolean;
  /** Whether the right response is an error. */
  readonly fails?: boolean;
}

export interface RequestList {
  /** The file, with the heads of the requests one after the other. */
  readonly file: string;
  /** How many of the first `count` responses have to be errors, the list being sent again and again. */
  errorsAmong(count: number): number;
}

export const requestText = ({ path, key, headers = {}, closes = false }: PlannedRequest): string => {
  const given = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [
    ...[`GET ${path} HTTP/1.1`, 'Host: bench', `Authorization: Bearer ${key}`, 'Accept: application/json'],
    ...[...given, ...(closes ? ['Connection: close'] : [])],
  ];
  return `${head.join('\r\n')}\r\n\r\n`;
};

/** @param folder a temporary one */
export const writeRequests = async (folder: string, requests: readonly PlannedRequest[]): Promise<RequestList> => {
  const file = join(await mkdtemp(join(folder, 'requests-')), 'list');
  await writeFile(file, requests.map(requestText).join(''));
  // Before each request, how many errors there are: a prefix sum.
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

/** The requests of such a file. */
export const splitRequests = (text: string): string[] => text.split(/(?<=\r\n\r\n)/);

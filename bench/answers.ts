/** What the service answers, written to a file: the contenders for Node serve it, and all are checked against it. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from './bench.js';
import { marketCodes, seriesIds } from './dataset.js';
import { dayPaths } from './day.js';
import { startServer } from './server.js';
import { BASE, json, serviceCommand } from './service.js';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** By path with query, the API's own path included. */
export type Answers = ReadonlyMap<string, Answer>;

export const answersFile = ({ folder }: Bench): string => join(folder, 'answers.json');

/** Every path of the day. */
export const dayOptions = { cbsas: marketCodes(1), series: seriesIds() };

/** Writes the file, unless that has been done in this run. */
export const writeAnswers = async (bench: Bench): Promise<void> => {
  const file = answersFile(bench);
  if (existsSync(file)) return;
  const server = await startServer(await serviceCommand(bench, { adapter: json(bench.dataset), limiter: 'memory' }));
  try {
    const ask = async (path: string): Promise<Answer> => {
      const response = await fetch(server.origin + path, { headers: { Authorization: `Bearer ${bench.key}` } });
      return { status: response.status, body: await response.json() };
    };
    const responses: Record<string, Answer> = {};
    for (const path of dayPaths(dayOptions)) responses[BASE + path] = await ask(BASE + path);
    await writeFile(file, JSON.stringify({ document: (await ask(`${BASE}/openapi.json`)).body, responses }));
  } finally {
    await server.stop();
  }
};

export const readAnswers = async (bench: Bench): Promise<Answers> => {
  const { responses } = JSON.parse(await readFile(answersFile(bench), 'utf8')) as { responses: Record<string, Answer> };
  return new Map(Object.entries(responses));
};

/**
 * What the driver does at most: finds of markets in MongoDB, so many at a time, each for the next market. A process of
 * its own; takes address, database, how many at a time and for how many seconds, and prints finds per second.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { marketCodes } from './dataset.js';
import { marketFinder } from './market-finder.js';
import { LEAD_SECONDS } from './turns.js';

const [uri = '', database = '', concurrency, seconds] = process.argv.slice(2);
const { find, close } = await marketFinder(uri, database);
const codes = marketCodes(1);
let found = 0;
let ending = false;

const work = async (): Promise<void> => {
  while (!ending) await find(codes[found++ % codes.length]!);
};

const working = Promise.all(Array.from({ length: Number(concurrency) }, work));
await delay(LEAD_SECONDS * 1000);
const before = found;
const began = performance.now();
await delay(Number(seconds) * 1000);
process.stdout.write(String(((found - before) / (performance.now() - began)) * 1000));
ending = true;
await working;
await close();

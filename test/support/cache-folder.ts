/** Programs are downloaded once per machine, into a folder outside the repository. */
import { homedir } from 'node:os';
import { join } from 'node:path';

export const cacheFolder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'metro-forecast-api');

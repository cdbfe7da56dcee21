/** Folder outside the repository for programs that are downloaded once per machine. */
import { homedir } from 'node:os';
import { join } from 'node:path';

export const cacheFolder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'metro-forecast-api');

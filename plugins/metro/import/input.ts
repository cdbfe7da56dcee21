import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { files } from 'metro-forecast-api/adapter';
import { OperatorError } from 'metro-forecast-api/plugin';

export interface Input {
  readonly name: string;
  readonly found: boolean;
  /** @throws OperatorError or errors from `node:fs` */
  open(): Promise<files.OpenedBytes>;
}

/** The limit of 1 GiB is more than ten times the size of the largest file from FHFA or FRED. */
const MAX_BYTES = 2 ** 30;

const openFile = async (path: string): Promise<files.OpenedBytes> => {
  const { size } = await stat(path);
  return { bytes: files.streamRegular(path, MAX_BYTES), size };
};

const walk = async (directory: string): Promise<string[]> => {
  const entries = await readdir(directory, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const paths = entries
    .filter(({ name }) => !name.startsWith('.'))
    .map(async (entry) => {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) return walk(path);
      // Symbolic links to directories can form a cycle, so they are not followed.
      return (await stat(path).catch(() => undefined))?.isFile() ? [path] : [];
    });
  return (await Promise.all(paths)).flat();
};

/**
 * Finds the files and URLs to import. Directories are searched recursively, except for hidden files and folders.
 * @param sources paths and http(s) URLs
 * @throws OperatorError that lists every source that does not exist or contains no files
 */
export const findInputs = async (
  sources: readonly string[],
  options: { readonly silenceMs?: number } = {},
): Promise<Input[]> => {
  const errors: string[] = [];
  const inputs: Input[] = [];
  for (const source of sources) {
    if (/^https?:\/\//i.test(source)) {
      if (!URL.canParse(source)) errors.push(`${source}: is not a valid URL`);
      else
        inputs.push({
          name: source,
          found: false,
          open: () => files.openUrl(source, { ...options, maxBytes: MAX_BYTES }),
        });
      continue;
    }
    try {
      const found = (await stat(source)).isDirectory();
      const paths = found ? await walk(source) : [source];
      if (paths.length === 0) errors.push(`${source}: there are no files in this directory`);
      inputs.push(...paths.map((path) => ({ name: path, found, open: () => openFile(path) })));
    } catch (error) {
      errors.push(`${source}: ${files.fileErrorReason(error)}`);
    }
  }
  if (errors.length > 0) throw new OperatorError('These sources cannot be read:', errors);
  return inputs;
};

import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { maskedConfig } from '../../core/app/load-modules.js';
import { readDeclarations } from '../../core/data/declarations.js';
import { OperatorError } from '../../core/errors.js';
import { counted } from '../../core/util/counted.js';
import { fileErrorReason } from '../../core/util/error-reason.js';
import { makeFolder } from '../../core/util/write-atomic.js';
import { isArchive, pack } from '../backup/archive.js';
import { withStores } from '../backup/with-stores.js';
import { writeBackup } from '../backup/write-backup.js';
import { interruptible } from '../interruptible.js';
import { type CommonOptions, jsonOption } from '../options.js';
import { note, print, printJson } from '../output.js';
import { withProgress } from '../progress.js';
import { EXIT_CODES } from '../report.js';

const create = (path: string): Promise<string | undefined> =>
  makeFolder(path, 0o700).catch((error: unknown) => {
    throw new OperatorError(`${path} cannot be created: ${fileErrorReason(error)}.`);
  });

const inNewDirectory = async <T>(path: string, fill: (directory: string) => Promise<T>): Promise<T> => {
  const found = await readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    if (error.code !== 'ENOTDIR') throw new OperatorError(`${path} cannot be read: ${fileErrorReason(error)}.`);
    throw new OperatorError(`${path} is not a directory.`, ['a file must end with .tar, .tar.gz or .tgz']);
  });
  if (found && found.length > 0) throw new OperatorError(`${path} is not empty: name a new directory.`);
  const created = found ? undefined : await create(path);
  try {
    return await fill(path);
  } catch (error) {
    // A directory that existed is kept, because it can be a mount point.
    const written = created === undefined ? (await readdir(path)).map((name) => join(path, name)) : [created];
    await Promise.all(written.map((each) => rm(each, { recursive: true, force: true })));
    throw error;
  }
};

const save = async (path: string, { config, json }: CommonOptions): Promise<void> => {
  const into = isArchive(path) ? pack : inNewDirectory;
  const omissions: string[] = [];
  const { backup, keys } = await withStores(config, async ({ loaded, modules, storage, keyStore }) => {
    const declarations = loaded.config.plugins
      .filter(({ use, options }) => use === 'tables' && options['path'] !== undefined)
      .flatMap(({ options }) => readDeclarations(resolve(loaded.folder, String(options['path']))));
    return interruptible('The export was interrupted, and its files were removed.', (signal) =>
      withProgress((progress) =>
        into(path, (directory) =>
          writeBackup(
            directory,
            { storage, keyStore, config: maskedConfig(loaded, modules), declarations },
            {
              signal,
              onRows: (version, rows) => progress.update(`exporting ${version}`, rows),
              onOmission: (sentence) => omissions.push(sentence),
            },
          ),
        ),
      ),
    );
  });
  for (const sentence of omissions) note(sentence);
  const versions = backup.versions.map(({ version }) => version);
  if (json) return printJson({ path, versions, keys, omissions });
  print(`${path} contains ${counted(versions.length, 'version')} and ${counted(keys, 'key')}.`);
};

export const register = (command: Command): void => {
  command
    .argument('<path>', 'a new directory, or a file whose name ends with .tar, .tar.gz or .tgz')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Services may keep running. The backup contains key hashes, but neither keys nor secrets from the configuration.
Back up the peppers (auth.peppers) separately. "metro-forecast import-backup" restores the backup into any storage.

Examples:
  $ metro-forecast --config api.json export /backup/2026-03-01
  $ metro-forecast --config api.json export /backup/2026-03-01.tar.gz --json

Exit codes: ${EXIT_CODES}.`,
    )
    .action((path: string, _: unknown, command: Command) => save(path, command.optsWithGlobals<CommonOptions>()));
};

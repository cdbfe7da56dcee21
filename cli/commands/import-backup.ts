import type { Command } from 'commander';
import { missingPeppers, Peppers } from '../../core/keys/key.js';
import { counted } from '../../core/util/counted.js';
import { isArchive, unpacked } from '../backup/archive.js';
import { restoreBackup, verifiedBackup } from '../backup/read-backup.js';
import { withStores } from '../backup/with-stores.js';
import { refuseSample } from '../durable-storage.js';
import { interruptible } from '../interruptible.js';
import { type CommonOptions, jsonOption } from '../options.js';
import { note, print, printJson } from '../output.js';
import { withProgress } from '../progress.js';
import { EXIT_CODES } from '../report.js';

interface Options extends CommonOptions {
  readonly replace?: boolean;
}

const restore = async (directory: string, { config, json, replace = false }: Options): Promise<void> => {
  const notes: string[] = [];
  const restored = await withProgress(async (progress) => {
    const backup = await verifiedBackup(directory, (checked) =>
      progress.update('checking the backup', checked, undefined, 'files'),
    );
    progress.finish();
    return withStores(config, async ({ loaded, storage, keyStore }) => {
      refuseSample(storage);
      const { versions, keys } = await interruptible(
        'The restore was interrupted. To complete it, repeat it with --replace.',
        (signal) =>
          restoreBackup(
            directory,
            backup,
            { storage, keyStore },
            {
              replace,
              signal,
              onRows: (version, rows) => progress.update(`restoring ${version}`, rows),
              onNote: (sentence) => notes.push(sentence),
            },
          ),
      );
      notes.push(...missingPeppers(keys, new Peppers(loaded.config.auth.peppers), Date.now()));
      return { versions, keys: keys.length };
    });
  });
  for (const sentence of notes) note(sentence);
  if (json) return printJson({ ...restored, notes });
  print(`Restored ${counted(restored.versions, 'version')} and ${counted(restored.keys, 'key')}.`);
};

export const register = (command: Command): void => {
  command
    .argument('<path>', 'the directory or file that "export" wrote')
    .option('--replace', 'first delete all versions, keys and audit logs from the stores')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
The adapter and the key store may differ from those that were backed up. Stop all services that use the stores first.
Every file is checked against its digest before anything is written, and every restored row is compared with the
backup. Without --replace, the stores must be empty. If a restore fails or is interrupted, repeat it with --replace.

Examples:
  $ metro-forecast --config replicas.json import-backup /backup/2026-03-01
  $ metro-forecast --config api.json import-backup /backup/2026-03-01.tar.gz --replace

Exit codes: ${EXIT_CODES}.`,
    )
    .action((path: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      return isArchive(path) ? unpacked(path, (directory) => restore(directory, options)) : restore(path, options);
    });
};

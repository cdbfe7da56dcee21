import type { Command } from 'commander';
import type { OpenedStorage } from '../../core/app/open-stores.js';
import type { DataAuditEntry } from '../../core/contracts/audit.js';
import type { Versions } from '../../core/contracts/storage.js';
import { OperatorError, StorageError } from '../../core/errors.js';
import { nearest } from '../../core/validation/nearest.js';
import { type AuditOptions, addAuditOptions, isVerification, reportVerification } from '../audit-report.js';
import { whatServicesDo, withDurableStorage } from '../durable-storage.js';
import { type CommonOptions, jsonOption, parseCount } from '../options.js';
import { note, print, printJson, table } from '../output.js';
import { EXIT_CODES } from '../report.js';

type Listed = Awaited<ReturnType<Versions['list']>>[number];

const withVersions = <T>(
  command: Command,
  task: (versions: Versions, options: CommonOptions, storage: OpenedStorage) => Promise<T>,
): Promise<T> => {
  const options = command.optsWithGlobals<CommonOptions>();
  return withDurableStorage(options.config, 'versions', (versions, storage) => task(versions, options, storage));
};

/**
 * The times are read from the audit log, because `publishedAt` is usually the creation time in the manifest.
 * @returns undefined if the adapter has no audit log
 */
const writtenTimes = async ({ adapter }: OpenedStorage): Promise<ReadonlyMap<string, string> | undefined> => {
  const entries = await adapter.audit?.list();
  return (
    entries && new Map(entries.filter(({ action }) => action === 'publish').map(({ version, time }) => [version, time]))
  );
};

const formatVersions = (list: readonly Listed[], written: ReadonlyMap<string, string> | undefined): string =>
  table([
    ['VERSION', 'CREATED', ...(written ? ['PUBLISHED'] : []), 'STATE'],
    ...list.map(({ version, publishedAt, current, held }) => [
      version,
      publishedAt.toISOString(),
      ...(written ? [written.get(version) ?? '-'] : []),
      current ? 'current' : held ? 'in use' : '',
    ]),
  ]);

const list = (command: Command) =>
  withVersions(command, async (versions, { json }, storage) => {
    const found = await versions.list();
    const written = await writtenTimes(storage);
    if (json) return printJson(found.map((each) => ({ ...each, writtenAt: written?.get(each.version) ?? null })));
    if (found.length > 0) return print(formatVersions(found, written));
    return note('No version has been published. To publish one: metro-forecast publish DIR');
  });

const activate = (version: string, command: Command) =>
  withVersions(command, async (versions, { json }, storage) => {
    try {
      await versions.activate(version);
    } catch (error) {
      if (!(error instanceof StorageError && error.code === 'unknown_version')) throw error;
      const names = (await versions.list()).map((one) => one.version);
      const near = nearest(version, names);
      const hint = near ? `did you mean "${near}"?` : '"snapshots list" shows all versions';
      throw new OperatorError(`There is no version "${version}"; ${hint}`, [], { cause: error });
    }
    if (json) return printJson({ version });
    return print(`Version ${version} is the current version. ${whatServicesDo(storage)}`);
  });

interface PruneOptions {
  readonly keep: number;
  readonly dryRun?: boolean;
}

const prune = ({ keep, dryRun }: PruneOptions, command: Command) =>
  withVersions(command, async (versions, { json }) => {
    if (dryRun) {
      const old = (await versions.list()).slice(keep).filter(({ current, held }) => !current && !held);
      const names = old.map(({ version }) => version);
      if (json) return printJson({ wouldDelete: names });
      return print(names.length === 0 ? 'No version would be deleted.' : `Would delete: ${names.join(', ')}.`);
    }
    const deleted = await versions.prune(keep);
    if (json) return printJson({ deleted });
    return print(deleted.length === 0 ? 'No version was deleted.' : `Deleted: ${deleted.join(', ')}.`);
  });

const formatAudit = (entries: readonly DataAuditEntry[]): string =>
  table([
    ['TIME', 'ACTION', 'VERSION', 'REPLACES', 'BY', 'FROM'],
    ...entries.map(({ time, action, version, replaces, by, host }) => [
      time,
      action,
      version,
      replaces ?? '-',
      by,
      host ?? '-',
    ]),
  ]);

const audit = (options: AuditOptions, command: Command) => {
  const { config, json } = command.optsWithGlobals<CommonOptions>();
  return withDurableStorage(config, 'audit', async (kept) => {
    if (isVerification(options)) return reportVerification(await kept.verify(options.expect), 'data', json);
    const entries = await kept.list();
    if (json) return printJson(entries);
    if (entries.length > 0) return print(formatAudit(entries));
    return note('The audit log contains no publications.');
  });
};

const help = (example: string): string =>
  `\nExample:\n  $ metro-forecast --config replicas.json snapshots ${example}\n\nExit codes: ${EXIT_CODES}.`;

export const register = (snapshots: Command): void => {
  snapshots.addHelpText(
    'after',
    `
Examples:
  $ metro-forecast --config replicas.json snapshots
  $ metro-forecast --config replicas.json snapshots activate 2024-09-30-0a1b2c3d4e5f
  $ metro-forecast --config replicas.json snapshots prune --keep 5

Exit codes: ${EXIT_CODES}.`,
  );

  snapshots
    .command('list', { isDefault: true })
    .description('list published versions, newest first, with their creation and publication times')
    .option(...jsonOption)
    .addHelpText('after', help('list --json'))
    .action((_: unknown, command: Command) => list(command));

  snapshots
    .command('activate')
    .description('make a published version the current version')
    .argument('<version>', 'name of the version; "snapshots list" shows the names')
    .option(...jsonOption)
    .addHelpText('after', help('activate 2024-09-30-0a1b2c3d4e5f'))
    .action((version: string, _: unknown, command: Command) => activate(version, command));

  snapshots
    .command('prune')
    .description('delete old versions, except the current one and versions that a running service reads')
    .requiredOption('--keep <n>', 'number of newest versions to keep', parseCount)
    .option('--dry-run', 'list the versions that would be deleted, and delete none')
    .option(...jsonOption)
    .addHelpText('after', help('prune --keep 5 --dry-run'))
    .action((options: PruneOptions, command: Command) => prune(options, command));

  addAuditOptions(snapshots.command('audit'), 'data')
    .description('list publications, activations and deletions with time and user, oldest first')
    .addHelpText('after', help('audit --verify'))
    .action((options: AuditOptions, command: Command) => audit(options, command));
};

import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { type OpenedKeyStore, openKeyStore } from '../../core/app/open-stores.js';
import type { LoadedConfig } from '../../core/config/load.js';
import type { Config } from '../../core/config/schema.js';
import { tierNames } from '../../core/config/tiers.js';
import type { KeyStore } from '../../core/contracts/keys.js';
import { OperatorError } from '../../core/errors.js';
import { missingPeppers, Peppers } from '../../core/keys/key.js';
import { loadConfig, loadModules } from '../../product.js';
import { type AuditOptions, addAuditOptions, isVerification, reportVerification } from '../audit-report.js';
import {
  auditOf,
  type CreatedKey,
  createKeyRecord,
  type KeyRules,
  limitKey,
  listKeys,
  moveKey,
  type NewKey,
  revokeKey,
  rotateKey,
  type ShownKey,
  usageOf,
  verifyAudit,
} from '../key-actions.js';
import { formatAudit, formatDays, formatKeys, formatUsage } from '../key-report.js';
import { type CommonOptions, commandLine, jsonOption, UsageError } from '../options.js';
import { commandLogger, note, print, printJson } from '../output.js';
import { EXIT_CODES } from '../report.js';

/** The poll interval of key stores without the option `pollMs`, in milliseconds. */
const POLL_MS = 1000;
const READ_MS = 100;

const visibleAfter = ({ options }: Config['auth']['keys']): number => Number(options['pollMs'] ?? POLL_MS) + READ_MS;

/** Keys in memory would be lost when the command exits. */
const rejectMemory = ({ config, embedded, path }: LoadedConfig): void => {
  if (config.auth.keys.use !== 'memory') return;
  throw new OperatorError(
    embedded
      ? 'The embedded configuration stores no keys: each start prints a new demo key. To store keys, create a configuration:'
      : `The configuration ${path} stores keys in memory only (auth.keys is "memory"). To store keys, name a file:`,
    embedded
      ? [
          'metro-forecast init metro-forecast.json',
          'metro-forecast --config metro-forecast.json keys create --name NAME',
        ]
      : ['"auth": { "keys": { "use": "file", "options": { "path": "keys.json" } } }'],
  );
};

const noKeys = (config: string | undefined): string =>
  `There are no keys. To create one: ${commandLine(config, 'keys', 'create', '--name', 'NAME')}`;

const withStore = async <T>(
  command: Command,
  task: (store: KeyStore, rules: KeyRules, options: CommonOptions, usage: OpenedKeyStore['usage']) => Promise<T>,
): Promise<T> => {
  const options = command.optsWithGlobals<CommonOptions>();
  const loaded = await loadConfig({ path: options.config });
  rejectMemory(loaded);
  const { auth } = loaded.config;
  let opened: OpenedKeyStore | undefined;
  try {
    opened = await openKeyStore({ config: loaded, modules: await loadModules(loaded) }, commandLogger());
    const rules = {
      prefix: opened.info.keyPrefix,
      tiers: tierNames(auth),
      peppers: new Peppers(auth.peppers),
      visibleAfterMs: visibleAfter(auth.keys),
    };
    return await task(opened.store, rules, options, opened.usage);
  } finally {
    await opened?.close();
  }
};

const report = (key: ShownKey, { json }: CommonOptions, sentence: string): void => {
  if (json) printJson(key);
  else note(`${key.id} ("${key.name}") ${sentence}`);
};

const ownLimit = ({ id, limit_per_minute }: ShownKey): string =>
  limit_per_minute === null
    ? ''
    : ` It keeps its own limit of ${limit_per_minute} requests per minute; to apply the limit of the tier, run "keys limit ${id} default".`;

const help = (example: string): string => `\nExample:\n  $ ${example}\n\nExit codes: ${EXIT_CODES}.`;

const addCreate = (keys: Command): void => {
  keys
    .command('create')
    .description('create a key; it is printed once and cannot be shown again')
    .requiredOption('--name <name>', 'the owner of the key')
    .option('--tier <tier>', 'tier of the key (default: the first of auth.tiers)')
    .option('--limit <n>', 'requests per minute (default: the limit of the tier)')
    .option('--expires <when>', 'a date (2027-01-31) or a duration (15m, 12h, 30d, 2w); default: never')
    .option(...jsonOption)
    .addHelpText('after', help('API_KEY=$(metro-forecast -c my.json keys create --name "Team A" --expires 90d)'))
    .action((options: NewKey, command: Command) =>
      withStore(command, async (store, rules, { json }) => {
        // The key is printed as soon as it is stored. If the command were interrupted before that, the key would be
        // lost.
        await createKeyRecord(store, options, rules, Date.now(), (created) => {
          if (json) return printJson(created);
          note(`${created.id} ("${created.name}") was created. Store the key now, because it cannot be shown again:`);
          return print(created.key);
        });
      }),
    );
};

const addList = (keys: Command): void => {
  keys
    .command('list')
    .description('list keys and when they were last used, with a delay of up to five minutes')
    .option(...jsonOption)
    .addHelpText('after', help('metro-forecast -c my.json keys list --json'))
    .action((_: unknown, command: Command) =>
      withStore(command, async (store, { peppers }, { json, config }) => {
        const records = await listKeys(store);
        for (const sentence of missingPeppers(records, peppers, Date.now())) note(sentence);
        if (json) return printJson(records);
        if (records.length > 0) return print(formatKeys(records, peppers, Date.now()));
        return note(noKeys(config));
      }),
    );
};

const addRotate = (keys: Command): void => {
  keys
    .command('rotate')
    .description('create a successor that shares the limit of a key; the old key expires after the overlap')
    .argument('<id>', 'id of the key; "keys list" shows the ids')
    .option('--overlap <when>', 'how long the old key stays valid: a duration (7d, 12h) or a date', '7d')
    .option(...jsonOption)
    .addHelpText('after', help('API_KEY=$(metro-forecast -c my.json keys rotate key_4fJ8kQ2mXw --overlap 7d)'))
    .action((id: string, { overlap }: { overlap: string }, command: Command) =>
      withStore(command, async (store, rules, { json }) => {
        const onStored = ({ key, name, expires_at, ...created }: CreatedKey) => {
          if (json) return;
          const until = expires_at === null ? '' : `, which expires at ${expires_at}, like the old key`;
          note(`The successor of ${id} ("${name}") is ${created.id}${until}. Store the key now:`);
          print(key);
        };
        await rotateKey(store, id, overlap, rules, Date.now(), onStored, (old, created) =>
          json ? printJson({ old, created }) : note(`${id} expires at ${old.expires_at}.`),
        );
      }),
    );
};

const addRevoke = (keys: Command): void => {
  keys
    .command('revoke')
    .description('revoke a key; running services reject it within 5 seconds')
    .argument('<id>', 'id of the key; "keys list" shows the ids')
    .option(...jsonOption)
    .addHelpText('after', help('metro-forecast -c my.json keys revoke key_4fJ8kQ2mXw'))
    .action((id: string, _: unknown, command: Command) =>
      withStore(command, async (store, _auth, options) => {
        const key = await revokeKey(store, id, Date.now());
        report(key, options, `was revoked at ${key.revoked_at}.`);
      }),
    );
};

const addLimit = (keys: Command): void => {
  keys
    .command('limit')
    .description('change the limit of a key; running services apply it within 5 seconds')
    .argument('<id>', 'id of the key; "keys list" shows the ids')
    .argument('<n>', 'requests per minute, or "default"')
    .option(...jsonOption)
    .addHelpText('after', help('metro-forecast -c my.json keys limit key_4fJ8kQ2mXw 6000'))
    .action((id: string, limit: string, _: unknown, command: Command) =>
      withStore(command, async (store, _auth, options) => {
        const key = await limitKey(store, id, limit, Date.now());
        report(key, options, `has a limit of ${key.limit_per_minute ?? 'the default number of'} requests per minute.`);
      }),
    );
};

const addTier = (keys: Command): void => {
  keys
    .command('tier')
    .description(
      'change the tier of a key, with its limit, quotas and endpoints; running services apply it within 5 seconds',
    )
    .argument('<id>', 'id of the key; "keys list" shows the ids')
    .argument('<tier>', 'one of auth.tiers')
    .option(...jsonOption)
    .addHelpText('after', help('metro-forecast -c my.json keys tier key_4fJ8kQ2mXw pro'))
    .action((id: string, tier: string, _: unknown, command: Command) =>
      withStore(command, async (store, { tiers }, options) => {
        const key = await moveKey(store, id, tier, tiers, Date.now());
        report(key, options, `has the tier "${key.tier}".${ownLimit(key)}`);
      }),
    );
};

const addUsage = (keys: Command): void => {
  keys
    .command('usage')
    .description('show admitted and rejected requests of all keys today and this month, in UTC, or of one key by day')
    .argument('[id]', 'id of the key; "keys list" shows the ids')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `\nKeys that share a limit after a rotation are listed once, under the newest key. Callers without a key are not listed:\nthey can read their usage at GET /usage.\n${help('metro-forecast -c my.json keys usage --json')}`,
    )
    .action((id: string | undefined, _: unknown, command: Command) =>
      withStore(command, async (store, _rules, { json, config }, usage) => {
        const used = await usageOf(store, id, usage, Date.now());
        if (json) return printJson(used);
        if (used.length === 0) return note(noKeys(config));
        if (id === undefined) return print(formatUsage(used, Date.now()));
        const { shares_with, data } = used[0]!;
        if (shares_with.length > 0)
          note(`The numbers include ${[id, ...shares_with].join(', ')}, which share a limit.`);
        return print(formatDays(data));
      }),
    );
};

const addAudit = (keys: Command): void => {
  addAuditOptions(keys.command('audit'), 'keys')
    .description('list all changes to keys with time and user, oldest first')
    .argument('[id]', 'only changes of this key; "keys list" shows the ids')
    .addHelpText('after', help('metro-forecast -c my.json keys audit --verify'))
    .action((id: string | undefined, options: AuditOptions, command: Command) =>
      withStore(command, async (store, _rules, { json }) => {
        if (isVerification(options)) {
          if (id !== undefined) throw new UsageError('--verify checks the whole audit log. Omit the id.');
          return reportVerification(await verifyAudit(store, options.expect), 'keys', json);
        }
        const entries = await auditOf(store, id);
        if (json) return printJson(entries);
        if (entries.length > 0) return print(formatAudit(entries));
        return note(`The audit log contains no changes${id === undefined ? '' : ` to ${id}`}.`);
      }),
    );
};

export const register = (keys: Command): void => {
  // When a command changes a file of 100,000 keys, these V8 flags reduce memory usage by a sixth.
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString('--semi-space-growth-factor=1');
  keys.addHelpText('after', help('metro-forecast -c my.json keys list'));
  for (const add of [addCreate, addList, addRotate, addRevoke, addLimit, addTier, addUsage, addAudit]) add(keys);
};

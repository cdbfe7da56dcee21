/**
 * The second process of the tests in `other-process.ts`. It imports the test file, takes the adapter from
 * `describeAdapter` instead of defining tests, and runs the commands that it receives as messages.
 */
import { pathToFileURL } from 'node:url';
import { type AdapterUnderTest, targets } from './adapter-under-test.js';
import { anotherDataset, collections, items } from './fixture.js';
import { about, find, makeIn, type Opened, withSnapshot } from './instance.js';

/** The commands that the process runs. */
export interface Commands {
  /** Closes the previous adapter, if any, and opens one that uses the store in `folder`. */
  open(folder: string): Promise<void>;
  publish(version: string, created: string): Promise<void>;
  /** Starts a publication that never ends. Resolves when the publication is in progress. */
  beginToPublish(version: string, created: string): Promise<void>;
  /** Describes the dataset that the adapter serves. Resolves with undefined if there is none. */
  read(): Promise<object | undefined>;
  close(): Promise<void>;
}

const [file = '', name = ''] = process.argv.slice(2);

/** A value that accepts any call and any property access. */
const anything: unknown = new Proxy(() => {}, { get: () => anything, apply: () => anything });

/** Replaces mocha's globals, so that importing a test file runs no tests. */
const suites = Object.assign((_title: string, body?: (this: unknown) => void) => body?.call(anything), {
  skip: anything,
  only: (_title: string, body?: (this: unknown) => void) => body?.call(anything),
});
const hooks = ['it', 'specify', 'before', 'after', 'beforeEach', 'afterEach'];
Object.assign(globalThis, {
  describe: suites,
  context: suites,
  ...Object.fromEntries(hooks.map((each) => [each, anything])),
});

let opened: Opened | undefined;

const targetOf = async (): Promise<AdapterUnderTest> => {
  const found: AdapterUnderTest[] = [];
  targets.take = (target) => void found.push(target);
  await import(pathToFileURL(file).href);
  const target = found.find((each) => each.name === name);
  if (!target) throw new Error(`${file} calls describeAdapter() for no adapter named "${name}"`);
  return target;
};

const commands: Commands = {
  async open(folder) {
    await opened?.adapter.close();
    opened = await makeIn(folder, collections, (await target).createEmpty!);
    await opened.adapter.open();
  },
  publish: (version, created) => opened!.adapter.publish!(anotherDataset(version, created)),
  beginToPublish: (version, created) =>
    new Promise((resolve, reject) => {
      const dataset = anotherDataset(version, created);
      const read = async function* (collection: string) {
        yield* dataset.read(collection);
        resolve();
        await new Promise(() => {});
      };
      opened!.adapter.publish!({ manifest: dataset.manifest, read }).catch(reject);
    }),
  read: () => withSnapshot(opened!, async (snapshot) => ({ ...about(snapshot), items: await find(snapshot, items) })),
  close: async () => opened?.adapter.close(),
};

const target = targetOf();
// Handles the rejection here, so that it does not end the process. Each command reports it.
target.catch(() => {});

export interface Request {
  readonly id: number;
  readonly command: keyof Commands;
  readonly given: readonly string[];
}

export interface Response {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

process.on('message', async ({ id, command, given }: Request) => {
  try {
    const result = await (commands[command] as (...given: readonly string[]) => Promise<unknown>)(...given);
    process.send!({ id, result } satisfies Response);
  } catch (error) {
    process.send!({ id, error: String((error as Error).stack ?? error) } satisfies Response);
  }
});
process.once('disconnect', () => process.exit());

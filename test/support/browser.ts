import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from 'mocha';
import { type BrowserContext, chromium, type Page, type Route } from 'playwright-core';
import { onPath } from './binaries.js';
import { skip } from './skip.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const axe = () => readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The browser driver runs in the server process and would trigger overload protection. */
export const BROWSED = { port: 0, overload: null };

export interface TestBrowser {
  readonly page: Page;
  /** Errors and warnings on the console, uncaught errors, failed requests, and requests to other origins. */
  readonly complaints: string[];
  close(): Promise<void>;
}

export interface BrowserOptions {
  readonly origin: string;
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
  /** Default: true */
  readonly javaScriptEnabled?: boolean;
}

export const openBrowser = async (context: Context, options: BrowserOptions): Promise<TestBrowser> => {
  const executablePath = NAMES.map((name) => onPath(name)).find((path) => path !== undefined);
  if (executablePath === undefined) {
    return skip(context, `no Chromium is installed, looked for ${NAMES.join(', ')} on the PATH`);
  }
  const profile = await mkdtemp(join(tmpdir(), 'metro-forecast-browser-'));
  let session: BrowserContext | undefined;
  const close = async () => {
    await session?.close();
    await rm(profile, { recursive: true, force: true });
  };
  try {
    session = await chromium.launchPersistentContext(profile, {
      executablePath,
      headless: true,
      args: FLAGS,
      acceptDownloads: true,
      javaScriptEnabled: options.javaScriptEnabled ?? true,
      colorScheme: options.colorScheme ?? 'light',
      viewport: { width: options.width ?? 1280, height: 900 },
    });
    const page = session.pages()[0] ?? (await session.newPage());
    return { page, complaints: listen(page, options.origin), close };
  } catch (error) {
    await close();
    throw error;
  }
};

const listen = (page: Page, origin: string): string[] => {
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText;
    // ERR_ABORTED means that the browser left the page before the response arrived. Requests blocked by a policy fail
    // with a different error.
    if (reason !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${reason}`);
  });
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin) {
      complaints.push(`requested elsewhere: ${request.url()}`);
    }
  });
  return complaints;
};

export const accessibilityProblems = async (page: Page): Promise<string[]> => {
  await page.evaluate(await axe());
  return page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: defined by the script above, in the browser
    const { violations } = await (globalThis as any).axe.run({ resultTypes: ['violations'] });
    return violations.map(({ id, nodes }: { id: string; nodes: { target: string[]; failureSummary: string }[] }) =>
      [id, ...nodes.map(({ target, failureSummary }) => `${target.join(' ')}: ${failureSummary}`)].join('\n'),
    );
  });
};

/** Asks the page for its address, because `page.url()` can still return the previous address. */
export const addressOf = (page: Page): Promise<string> => page.evaluate<string>('location.href');

/**
 * Holds the first request of the page to an address. `requested` resolves when the page sends the request. `release`
 * continues the request and waits until the page shows the response.
 */
export async function holdFirst(
  page: Page,
  address: string,
): Promise<{ readonly requested: Promise<void>; release(): Promise<void> }> {
  let route: Route | undefined;
  let made = (): void => undefined;
  const requested = new Promise<void>((resolve) => {
    made = resolve;
  });
  await page.route(
    address,
    (call) => {
      route = call;
      made();
    },
    { times: 1 },
  );
  return {
    requested,
    async release() {
      // The page might already have aborted the request.
      await route?.continue().catch(() => undefined);
      await page.waitForTimeout(300);
    },
  };
}

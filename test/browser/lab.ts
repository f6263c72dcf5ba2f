import type { Browser, BrowserContext } from 'puppeteer-core';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { launchChromium } from './chromium.ts';
import { startPageServer } from './page-server.ts';
import { openTab, type Tab } from './tab.ts';

/** A vault, and a browser that runs an application of it on a page of another origin. */
export interface BrowserLab {
  readonly vault: TestVault;
  readonly origin: string;
  readonly browser: Browser;
  /** Opens a tab in a browser context, which acts as a separate device. Default: a new context. */
  openTab(context?: BrowserContext): Promise<Tab>;
  /**
   * Returns the problems since the last call: console errors, error responses, requests to unknown
   * origins.
   */
  takeProblems(): string[];
  stop(): Promise<void>;
}

export async function startBrowserLab(): Promise<BrowserLab> {
  await using started = new AsyncDisposableStack();
  const pages = await startPageServer();
  started.defer(() => pages.stop());
  const { origin } = pages;
  const vault = await startReadyVault({ HTTP_CORS_ORIGINS: origin });
  started.defer(() => vault.stop());
  await pages.connectTo(vault.baseUrl);
  const browser = await launchChromium();
  started.defer(() => browser.close());

  const problems: string[] = [];
  const watch = {
    origins: new Set([origin, vault.baseUrl]),
    report: (problem: string) => void problems.push(problem),
  };
  const resources = started.move();
  return {
    vault,
    origin,
    browser,
    openTab: async (context) =>
      openTab(context ?? (await browser.createBrowserContext()), `${origin}/`, watch),
    takeProblems: () => problems.splice(0),
    stop: () => resources.disposeAsync(),
  };
}

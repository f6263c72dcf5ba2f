import type { BrowserContext, ConsoleMessage, HTTPResponse, Page } from 'puppeteer-core';
import type { StepName, StepOutcome, Steps } from './page/main.ts';

type Value<Name extends StepName> = Awaited<ReturnType<Steps[Name]>>;

/** Chromium's own console note of a failed response or request, which is reported separately. */
const networkNote = 'Failed to load resource';

/** The application running in one tab. */
export interface Tab {
  readonly page: Page;
  /** Throws an Error with the `code` that the client threw in the page. */
  run<Name extends StepName>(name: Name, ...options: Parameters<Steps[Name]>): Promise<Value<Name>>;
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** Reports what a tab did that no application should do. */
export interface Watch {
  readonly origins: ReadonlySet<string>;
  report(problem: string): void;
}

export async function openTab(context: BrowserContext, url: string, watch: Watch): Promise<Tab> {
  const page = await context.newPage();
  watchPage(page, watch);
  await page.goto(url);
  return {
    page,
    async run<Name extends StepName>(
      name: Name,
      ...options: Parameters<Steps[Name]>
    ): Promise<Value<Name>> {
      const outcome = await page.evaluate(callStep, name, options[0]);
      if ('stack' in outcome) throw Object.assign(new Error(outcome.stack), { code: outcome.code });
      return outcome.value as Value<Name>;
    },
    async reload() {
      await page.reload();
    },
    close: () => page.close(),
  };
}

/** Runs one step inside the page. */
function callStep(name: StepName, options: unknown): Promise<StepOutcome> {
  const { runStep } = globalThis as unknown as {
    runStep(name: StepName, options: unknown): Promise<StepOutcome>;
  };
  return runStep(name, options);
}

function watchPage(page: Page, { origins, report }: Watch): void {
  page.on('pageerror', (error) => report(String(error)));
  page.on('console', (message: ConsoleMessage) => {
    const isProblem = ['error', 'warn'].includes(message.type());
    if (isProblem && !message.text().startsWith(networkNote)) report(message.text());
  });
  page.on('request', (request) => {
    if (!origins.has(new URL(request.url()).origin)) report(`asks ${request.url()}`);
  });
  page.on('response', (response: HTTPResponse) => {
    const { pathname } = new URL(response.url());
    if (response.status() >= 400) {
      report(`${response.status()} ${response.request().method()} ${pathname}`);
    }
  });
}

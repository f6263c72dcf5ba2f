import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { Page } from 'puppeteer-core';
import { until } from '../../app/dev/processes/until.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { launchChromium } from './chromium.ts';

const limitMs = 180_000;

/** Reads the text of an element, or nothing while the element is not there. */
function textOf(page: Page, selector: string): Promise<string | undefined> {
  return page.$eval(selector, ({ textContent }) => textContent ?? '').catch(() => undefined);
}

function untilText(page: Page, selector: string, pattern: RegExp): Promise<string> {
  const find = async () => {
    const text = await textOf(page, selector);
    return text !== undefined && pattern.test(text) && text;
  };
  return until(find, { what: `${selector} to show ${pattern.source}`, timeoutMs: 60_000 });
}

/** Presses a button wherever the layout has moved it. */
function press(page: Page, selector: string): Promise<void> {
  return page.$eval(selector, (button) => (button as unknown as { click(): void }).click());
}

/** Executes an open operation once its id is filled in. Resolves once the page shows a response. */
async function execute(page: Page, operation: string, path: RegExp) {
  const block = `#operations-${operation.replace('/', '-')}`;
  const id = `${block} [data-param-name=id] input`;
  const filledIn = () => page.$eval(id, (input) => Reflect.get(input, 'value') !== '');
  await until(() => filledIn().catch(() => false), {
    what: `the id in ${operation}`,
    timeoutMs: 60_000,
  });
  const answered = page.waitForResponse((found) => path.test(new URL(found.url()).pathname));
  await press(page, `${block} button.execute`);
  const response = await answered;
  const shown = `${block} .live-responses-table .response .response-col_status`;
  await untilText(page, shown, new RegExp(`^${response.status()}`));
  const body: unknown = await response.json();
  return { status: response.status(), pathname: new URL(response.url()).pathname, body };
}

test('a new visitor of the explorer registers, uploads, certifies and verifies', async (t) => {
  t.timeout(limitMs);
  const vault = await startReadyVault({ NODE_ENV: 'development' });
  t.teardown(() => vault.stop());
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  const urls = new Set<string>();
  let navigations = 0;
  page.on('request', (request) => {
    urls.add(request.url());
    if (request.isNavigationRequest()) navigations += 1;
  });
  const password = randomBytes(16).toString('base64url');
  const email = `${randomUUID()}@vault.test`;

  await page.goto(`${vault.baseUrl}/api/docs`);
  await page.waitForSelector('.opblock');
  await page.type('#enter [name=email]', email);
  await page.type('#enter [name=password]', password);
  await page.click('#enter [value=register]');
  await page.waitForSelector('#validate:not([hidden])', { timeout: 60_000 });
  const [own, inMail] = await Promise.all(
    ['#own-fingerprint', '#mail-fingerprint'].map((selector) => textOf(page, selector)),
  );
  t.regex(own ?? '', /^[0-9a-f]{8}$/);
  t.is(inMail, own);
  const token = await page.$eval('#validate [name=token]', (input) => Reflect.get(input, 'value'));
  await page.click('#validate [value=validate]');
  await untilText(page, '#status', /^Examples below/);

  const file = join(await temporaryDirectory(t), 'evidence.txt');
  await writeFile(file, randomBytes(1_000));
  const input = (await page.$('#upload [name=file]')) as {
    uploadFile(path: string): Promise<void>;
  };
  await input.uploadFile(file);
  await page.click('#upload button');
  const stored = await untilText(page, '#status', /^Stored as document/);
  const documentId = /[0-9a-f-]{36}/.exec(stored)?.[0] ?? '';

  await press(page, '#next [data-operation="Documents/certifyDocument"]');
  const certified = await execute(page, 'Documents/certifyDocument', /certify$/);
  t.is(certified.status, 200);
  t.is(certified.pathname, `/v1/documents/${documentId}/certify`);
  await press(page, '#next [data-operation="Proofs/verifyEntry"]');
  const verified = await execute(page, 'Proofs/verifyEntry', /verify$/);
  t.is(verified.status, 200);
  t.like(verified.body, { valid: true });
  t.is(navigations, 1, 'the visitor never left the page');

  await page.reload();
  t.regex(await untilText(page, '#status', /is kept until/), new RegExp(email));
  await press(page, '#operations-Documents-getDocument .opblock-summary-control');
  const read = await execute(page, 'Documents/getDocument', /documents\/[0-9a-f-]{36}$/);
  t.is(read.status, 200);
  t.like(read.body, { id: documentId, status: 'SEALED' });

  await press(page, '#log-out');
  await untilText(page, '#status', /^Logged out/);
  const kept = await page.evaluate(() =>
    JSON.stringify(Reflect.get(globalThis, 'localStorage') as object),
  );
  t.notRegex(kept, /eyJ/, 'no token outlives the logout');
  for (const url of urls) {
    for (const secret of [password, encodeURIComponent(email), String(token), 'eyJ']) {
      t.false(url.includes(secret), 'no secret is in a URL');
    }
  }
  // The first login finds no master key, and Chromium notes the response.
  t.deepEqual(
    problems.filter((problem) => !problem.startsWith('Failed to load resource')),
    [],
  );
});

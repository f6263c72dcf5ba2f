import { launch, type Browser } from 'puppeteer-core';

/** Launches headless Chromium with a temporary profile that is deleted when it closes. */
export function launchChromium(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'];
  if (executablePath === undefined) {
    throw new Error('this test needs Chromium: run it through `.ci/browser`');
  }
  // Root cannot use Chromium's sandbox. Containers have little room in /dev/shm.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  // A step may take longer than the three minutes that a call has otherwise.
  return launch({
    executablePath,
    protocolTimeout: 600_000,
    args: [...sandbox, '--disable-dev-shm-usage'],
  });
}

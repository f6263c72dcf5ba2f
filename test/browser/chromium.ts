import { launch, type Browser } from 'puppeteer-core';

/** Without a window, with a profile of its own that goes when it is closed. */
export function launchChromium(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'];
  if (executablePath === undefined) {
    throw new Error('this test needs Chromium: run it by `.ci/browser`');
  }
  // Root cannot have Chromium's sandbox. Containers give /dev/shm little room.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return launch({ executablePath, args: [...sandbox, '--disable-dev-shm-usage'] });
}

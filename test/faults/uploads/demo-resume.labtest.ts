import { randomBytes } from 'node:crypto';
import { readdir, stat, truncate, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { temporaryDirectory, untilLine } from '../../support/processes/processes.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { runDemo, startDemo } from '../../support/processes/run-demo.ts';
import { startStallingProxy } from '../../support/network/stalling-proxy.ts';

const vault = await startReadyVault();
test.after.always(() => vault.stop());

const isNoPart = ({ url = '' }: IncomingMessage) => !url.includes('/parts/');

/** Counts how often the vault stored a part. */
function countStoredParts(): number {
  return vault.logLines.filter((line) => /"method":"PUT".*\/parts\/.*"status":200/.test(line))
    .length;
}

test('a run killed during the upload is resumed by the next run', async (t) => {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'evidence.bin'), randomBytes(2 ** 20));
  // The file has four parts; all but its first MiB is a hole.
  await truncate(join(directory, 'evidence.bin'), 60 * 2 ** 20);
  const baseUrl = await startStallingProxy(
    t,
    vault.baseUrl,
    ({ url = '' }) => !/\/parts\/[34]$/.test(url),
  );
  const run = { vault, directory, args: ['evidence.bin'] };

  const first = startDemo(t, { ...run, baseUrl });
  await untilLine(first, /5\d % of 60/);
  first.kill('SIGKILL');
  await first.exitCode;
  t.is(countStoredParts(), 2);
  const place = join(directory, 'demo-output', '.resume');
  for (const name of await readdir(place)) {
    t.is((await stat(join(place, name))).mode & 0o077, 0, name);
  }

  const { code, text } = await runDemo(t, run);
  t.is(code, 0, text);
  t.regex(text, /^resuming the interrupted run as demo-/m);
  t.regex(text, /^2 of 4 parts are there/m);
  t.notRegex(text, /^registering/m);
  // The additional part belongs to the second version.
  t.is(countStoredParts(), 4 + 1);
  t.false((await readdir(join(directory, 'demo-output'))).includes('.resume'));
});

test('a second concurrent run with the same file is refused', async (t) => {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'evidence.bin'), 'x');
  const baseUrl = await startStallingProxy(t, vault.baseUrl, isNoPart);
  const run = { vault, directory, args: ['evidence.bin'] };
  const first = startDemo(t, { ...run, baseUrl });
  await untilLine(first, /^encrypting/);

  const second = await runDemo(t, run);
  t.is(second.code, 1);
  t.regex(second.text, /^demo: Another upload of this file is running\.$/m);
  first.kill('SIGKILL');
});

test('a run whose account no longer exists starts from the beginning', async (t) => {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'evidence.bin'), 'x');
  const baseUrl = await startStallingProxy(t, vault.baseUrl, isNoPart);
  const run = { vault, directory, args: ['evidence.bin'] };
  const first = startDemo(t, { ...run, baseUrl });
  await untilLine(first, /^encrypting/);
  first.kill('SIGKILL');
  await first.exitCode;

  const other = await startReadyVault();
  t.teardown(() => other.stop());
  const { code, text } = await runDemo(t, { ...run, vault: other });
  t.is(code, 0, text);
  t.regex(text, /has forgotten the account/);
  t.regex(text, /^registering/m);
});

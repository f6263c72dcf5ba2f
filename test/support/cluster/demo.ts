import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { temporaryDirectory } from '../processes/processes.ts';
import { runDemo } from '../processes/run-demo.ts';
import type { ClusterVault } from './cluster-vault.ts';

/** Asserts that the demo certifies a file with the vault, and that OpenSSL verifies the proof. */
export async function assertDemoRuns(t: ExecutionContext, vault: ClusterVault): Promise<void> {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'agreement.txt'), 'what was agreed');
  const { code, text } = await runDemo(t, { vault, directory, args: ['agreement.txt'] });
  t.is(code, 0, text);
  t.regex(text, /^openssl dgst -sha3-256 -verify .*: Verified OK$/m);
}

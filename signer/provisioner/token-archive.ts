import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';

/** The entries of the Secret of a token. */
export const tokenEntries = { pin: 'pin', soPin: 'so-pin', archive: 'tokens.tgz' } as const;

/** Removes everything in a directory of tokens. */
export async function emptyDirectory(directory: string): Promise<void> {
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true });
}

/** Packs the tokens in a directory of SoftHSM into a compressed tar archive. */
export async function packTokens(directory: string): Promise<Buffer> {
  const names = await readdir(directory);
  return tar(['--create', '--gzip', '--file=-', `--directory=${directory}`, '--', ...names]);
}

/** Puts the tokens of an archive into a directory, in place of what it holds. */
export async function unpackTokens(directory: string, archive: Buffer): Promise<void> {
  await emptyDirectory(directory);
  await tar(['--extract', '--gzip', '--file=-', `--directory=${directory}`], archive);
}

async function tar(args: readonly string[], input: Uint8Array = Buffer.alloc(0)): Promise<Buffer> {
  const child = spawn('tar', args, { stdio: 'pipe' });
  const ended = once(child, 'close') as Promise<[number | null]>;
  // A tar that ends early closes its input; its exit code says that it failed.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [output, complaint, [code]] = await Promise.all([
    buffer(child.stdout),
    text(child.stderr),
    ended,
  ]);
  if (code !== 0) throw new Error(`tar failed: ${complaint.trim()}`);
  return output;
}

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { verifyOriginal } from '../../disclosure/verify-original.ts';
import type { ByteSource } from '../../files/byte-source.ts';
import { createNodeHash } from '../../node/hash.ts';
import { DemoError } from '../terminal/demo-error.ts';
import type { Say } from '../terminal/say.ts';

export interface Original {
  readonly path: string;
  readonly source: ByteSource;
}

/** The keys by which a seal is verified. */
interface Expected {
  readonly trustedKeys: readonly string[];
  /** The fingerprint of the author's identity, 32 hex digits; undefined if nobody stated it. */
  readonly fingerprint: string | undefined;
}

/**
 * Verifies with the client library and with the script in a proof folder that a file is what was
 * sealed. Throws DemoError unless both agree.
 */
export async function verifyOriginalTwice(
  directory: string,
  { path, source }: Original,
  { trustedKeys, fingerprint, say }: Expected & { readonly say: Say },
): Promise<void> {
  const readJson = async (name: string): Promise<unknown> =>
    JSON.parse(await readFile(join(directory, name), 'utf8'));
  const verdict = await verifyOriginal({
    proof: await readJson('proof.json'),
    opening: await readJson('opening.json'),
    source,
    createHash: createNodeHash,
    trustedKeys,
    fingerprint,
  });
  const said = verdict.valid ? 'this file is what was sealed' : `NOT VALID (${verdict.reason})`;
  say(`client library: ${said}`);
  const known = fingerprint === undefined ? [] : ['-', fingerprint];
  const script = await runScript(join(directory, 'verify-original.sh'), [path, ...known]);
  say(`sh verify-original.sh FILE: ${script.lastLine}`);
  if (!verdict.valid || !script.isValid) {
    throw new DemoError(`${path} is not what the seal in ${directory} speaks of`);
  }
}

function runScript(
  script: string,
  args: readonly string[],
): Promise<{ readonly isValid: boolean; readonly lastLine: string }> {
  return new Promise((resolve) => {
    execFile('sh', [script, ...args], (error, output) => {
      const lastLine = output.trimEnd().split('\n').at(-1) ?? '';
      resolve({ isValid: error === null, lastLine });
    });
  });
}

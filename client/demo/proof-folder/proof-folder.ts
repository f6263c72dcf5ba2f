import { readFile, writeFile } from 'node:fs/promises';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { verifyAuthor } from '../../authorship/verify-author.ts';
import { decodeBase64 } from '../../bytes/base64.ts';
import type { Disclosure } from '../../disclosure/disclose.ts';
import { opensslArguments, verifyWithOpenssl } from '../../node/openssl.ts';
import { writeDisclosure } from '../../node/disclosure/disclosure-folder.ts';
import { readKeyFile, readProofFiles } from '../../node/proof-files.ts';
import { AuditProof } from '../../proofs/proof-format.ts';
import { keyFingerprint, verifyProof, type ProofDefect } from '../../proofs/verify-proof.ts';
import { DemoError } from '../terminal/demo-error.ts';
import { describeFolder } from './folder-readme.ts';

export const opensslCommand = ['openssl', ...opensslArguments].join(' ');

const NamedEntry = z.object({ issuer: z.string() });

export interface FolderVerdict {
  /** The first defect that the client library finds; undefined if it finds none. */
  readonly defect: ProofDefect | undefined;
  /** Whether OpenSSL verifies the signature. */
  readonly opensslAgrees: boolean;
}

/** Writes what verifies the seal and the original, and a README.txt that explains how. */
export async function writeProofFolder(disclosure: Disclosure, directory: string): Promise<void> {
  await writeDisclosure(disclosure, directory);
  const { proof } = disclosure;
  const { issuer } = NamedEntry.parse(JSON.parse(proof.entryCanonical));
  const verdict = verifyAuthor(proof);
  const readme = describeFolder({
    command: opensslCommand,
    fingerprint: keyFingerprint(decodeBase64(proof.publicKey)),
    issuer,
    author: verdict.standing === 'unknown_key' ? verdict : undefined,
  });
  await writeFile(join(directory, 'README.txt'), readme);
}

/**
 * Runs verify-original.sh of a folder on the original. Resolves with its last line, whether the
 * file is the original or not.
 */
export async function runOriginalScript(
  directory: string,
  original: string,
  fingerprints: readonly string[],
): Promise<string> {
  const args = [join(directory, 'verify-original.sh'), original, ...fingerprints];
  const output = await promisify(execFile)('sh', args).catch((error: { stdout?: string }) => error);
  return output.stdout?.trimEnd().split('\n').at(-1) ?? '';
}

/**
 * Returns the SHA-256 of the key in the folder, 64 hex digits. Throws DemoError if the folder has
 * no readable key.
 */
export async function readFolderFingerprint(directory: string): Promise<string> {
  try {
    return keyFingerprint(decodeBase64(await readKeyFile(directory)));
  } catch (cause) {
    throw new DemoError(`${directory} holds no key.pem, so no proof can be verified`, { cause });
  }
}

/**
 * Verifies the files of a proof folder without the vault: proof.json itself, and proof.json with
 * its members replaced by the contents of entry.json, signature.der and key.pem.
 */
export async function verifyFolder(
  directory: string,
  trustedKeys: readonly string[],
): Promise<FolderVerdict> {
  const opensslAgrees = await verifyWithOpenssl(directory);
  for (const proof of await readProofs(directory)) {
    const { reason } = verifyProof(proof, { trustedKeys });
    if (reason !== undefined) return { defect: reason, opensslAgrees };
  }
  return { defect: undefined, opensslAgrees };
}

/**
 * Resolves with the two proofs to verify: proof.json with three members replaced by the contents of
 * entry.json, signature.der and key.pem, and proof.json itself. If a file cannot be read, resolves
 * with one undefined value, which is not a valid proof.
 */
async function readProofs(directory: string): Promise<unknown[]> {
  try {
    const whole = AuditProof.parse(
      JSON.parse(await readFile(join(directory, 'proof.json'), 'utf8')),
    );
    return [{ ...whole, ...(await readProofFiles(directory)) }, whole];
  } catch {
    return [undefined];
  }
}

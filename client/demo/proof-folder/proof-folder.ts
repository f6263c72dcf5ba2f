import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeBase64 } from '../../bytes/base64.ts';
import type { Disclosure } from '../../disclosure/disclose.ts';
import { isOfSegments } from '../../disclosure/opening.ts';
import { writeDisclosure } from '../../node/disclosure/disclosure-folder.ts';
import { opensslArguments, verifyWithOpenssl } from '../../node/openssl.ts';
import { readKeyFile, readProofFiles } from '../../node/proof-files.ts';
import { AuditProof } from '../../proofs/proof-format.ts';
import { keyFingerprint, verifyProof, type ProofDefect } from '../../proofs/verify-proof.ts';
import { DemoError } from '../terminal/demo-error.ts';
import { readFolderEntry } from './folder-entry.ts';
import { describeFolder } from './folder-readme.ts';

export const opensslCommand = ['openssl', ...opensslArguments].join(' ');

export interface FolderVerdict {
  /** The first defect that the client library finds; undefined if it finds none. */
  readonly defect: ProofDefect | undefined;
  /** Whether OpenSSL verifies the signature. */
  readonly opensslAgrees: boolean;
}

/**
 * Writes all files that are needed to verify a disclosure of a whole file, the encrypted metadata
 * of its version, and a README.txt that explains how. Throws DemoError for a disclosure of chosen
 * segments.
 */
export async function writeProofFolder(
  disclosure: Disclosure,
  encryptedMetadata: string,
  directory: string,
): Promise<void> {
  const { proof, opening } = disclosure;
  if (isOfSegments(opening)) throw new DemoError('the folder is for a whole file');
  await writeDisclosure(disclosure, directory);
  await writeFile(join(directory, 'metadata.bin'), decodeBase64(encryptedMetadata));
  const readme = describeFolder({
    entry: readFolderEntry(proof),
    command: opensslCommand,
    fingerprint: keyFingerprint(decodeBase64(proof.publicKey)),
    sha256: opening.sha256,
  });
  await writeFile(join(directory, 'README.txt'), readme);
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

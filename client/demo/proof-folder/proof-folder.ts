import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeBase64 } from '../../bytes/base64.ts';
import { opensslArguments, verifyWithOpenssl } from '../../node/openssl.ts';
import { readKeyFile, readProofFiles, writeProofFiles } from '../../node/proof-files.ts';
import { AuditProof } from '../../proofs/proof-format.ts';
import { keyFingerprint, verifyProof, type ProofDefect } from '../../proofs/verify-proof.ts';
import { DemoError } from '../terminal/demo-error.ts';
import { describeFolder } from './folder-readme.ts';

export const opensslCommand = ['openssl', ...opensslArguments].join(' ');

export interface FolderVerdict {
  /** The first defect that the client library finds; undefined if it finds none. */
  readonly defect: ProofDefect | undefined;
  /** Whether OpenSSL verifies the signature. */
  readonly opensslAgrees: boolean;
}

/** Writes all files that are needed to verify the proof, and a README.txt that explains how. */
export async function writeProofFolder(proof: AuditProof, directory: string): Promise<void> {
  await writeProofFiles(proof, directory);
  await writeFile(join(directory, 'proof.json'), `${JSON.stringify(proof, null, 2)}\n`);
  const fingerprint = keyFingerprint(decodeBase64(proof.publicKey));
  const readme = describeFolder({ command: opensslCommand, fingerprint });
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

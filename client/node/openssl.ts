import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { AuditProof } from '../audit-proof.ts';
import { decodeBase64 } from '../base64.ts';

const run = promisify(execFile);
const PEM_LINE = 64;

/** Writes entry.json, signature.der and key.pem, all that OpenSSL needs, into a directory. */
export async function writeProofFiles(proof: AuditProof, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'entry.json'), proof.entryCanonical);
  await writeFile(join(directory, 'signature.der'), decodeBase64(proof.hsmSignature));
  await writeFile(join(directory, 'key.pem'), toPem(proof.publicKey));
}

/**
 * Whether OpenSSL 3 takes the signature under the key that the proof brings along; whose key that
 * is, only a fingerprint from elsewhere tells. Throws if there is no `openssl` to run.
 */
export async function verifyWithOpenssl(proof: AuditProof): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'proof-'));
  try {
    await writeProofFiles(proof, directory);
    const files = ['-verify', 'key.pem', '-signature', 'signature.der', 'entry.json'];
    await run('openssl', ['dgst', '-sha3-256', ...files], { cwd: directory });
    return true;
  } catch (error) {
    const hasExited = error instanceof Error && 'code' in error && error.code === 1;
    if (hasExited) return false;
    throw error;
  } finally {
    await rm(directory, { recursive: true });
  }
}

function toPem(publicKey: string): string {
  const lines = publicKey.match(new RegExp(`.{1,${PEM_LINE}}`, 'g')) ?? [];
  return ['-----BEGIN PUBLIC KEY-----', ...lines, '-----END PUBLIC KEY-----', ''].join('\n');
}

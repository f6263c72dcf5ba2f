import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';

const run = promisify(execFile);

/**
 * Returns what the openssl command prints when it verifies a proof, with the arguments that the
 * contract gives.
 */
export async function askOpenssl(proof: AuditProof): Promise<string> {
  const cwd = await mkdtemp(path.join(tmpdir(), 'probatio-openssl-'));
  try {
    const key = `-----BEGIN PUBLIC KEY-----\n${proof.publicKey}\n-----END PUBLIC KEY-----\n`;
    await writeFile(path.join(cwd, 'key.pem'), key);
    await writeFile(path.join(cwd, 'sig.der'), Buffer.from(proof.hsmSignature, 'base64'));
    await writeFile(path.join(cwd, 'entry.json'), proof.entryCanonical);
    const { stdout } = await run(
      'openssl',
      ['dgst', '-sha3-256', '-verify', 'key.pem', '-signature', 'sig.der', 'entry.json'],
      { cwd },
    );
    return stdout.trim();
  } finally {
    await rm(cwd, { recursive: true });
  }
}

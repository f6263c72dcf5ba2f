import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { AuditProof } from '../proofs/audit-proof.ts';

const pemLine = 64;
const pemPattern = /^-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/=\n]*)\n-----END PUBLIC KEY-----\n$/;

/** Writes entry.json, signature.der and key.pem, all that OpenSSL needs, into a directory. */
export async function writeProofFiles(proof: AuditProof, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'entry.json'), proof.entryCanonical);
  await writeFile(join(directory, 'signature.der'), decodeBase64(proof.hsmSignature));
  await writeFile(join(directory, 'key.pem'), toPem(proof.publicKey));
}

/** What these three files say of a proof. Throws TypeError for bytes that say nothing. */
export async function readProofFiles(
  directory: string,
): Promise<Pick<AuditProof, 'entryCanonical' | 'hsmSignature' | 'publicKey'>> {
  // A byte order mark would make another entry of it.
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return {
    entryCanonical: utf8.decode(await readFile(join(directory, 'entry.json'))),
    hsmSignature: encodeBase64(await readFile(join(directory, 'signature.der'))),
    publicKey: await readKeyFile(directory),
  };
}

/** SubjectPublicKeyInfo, DER, base64. Throws TypeError if key.pem holds something else. */
export async function readKeyFile(directory: string): Promise<string> {
  const [, lines] = pemPattern.exec(await readFile(join(directory, 'key.pem'), 'utf8')) ?? [];
  if (lines === undefined) throw new TypeError('key.pem is no public key in PEM');
  return lines.replaceAll('\n', '');
}

function toPem(publicKey: string): string {
  const lines = publicKey.match(new RegExp(`.{1,${pemLine}}`, 'g')) ?? [];
  return ['-----BEGIN PUBLIC KEY-----', ...lines, '-----END PUBLIC KEY-----', ''].join('\n');
}

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { AuditProof } from '../proofs/proof-format.ts';

const pemLine = 64;
const pemPattern = /^-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/=\n]*)\n-----END PUBLIC KEY-----\n$/;

/**
 * Writes entry.json, signature.der and key.pem, which are all files that OpenSSL needs to verify a
 * proof.
 */
export async function writeProofFiles(proof: AuditProof, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'entry.json'), proof.entryCanonical);
  await writeFile(join(directory, 'signature.der'), decodeBase64(proof.hsmSignature));
  await writeFile(join(directory, 'key.pem'), toPem(proof.publicKey));
}

/**
 * Reads entry.json, signature.der and key.pem and returns their contents as members of a proof.
 * Throws TypeError if entry.json is not UTF-8 or key.pem is not PEM.
 */
export async function readProofFiles(
  directory: string,
): Promise<Pick<AuditProof, 'entryCanonical' | 'hsmSignature' | 'publicKey'>> {
  // Without ignoreBOM, the decoder would drop a byte order mark, which is a change of the entry.
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return {
    entryCanonical: utf8.decode(await readFile(join(directory, 'entry.json'))),
    hsmSignature: encodeBase64(await readFile(join(directory, 'signature.der'))),
    publicKey: await readKeyFile(directory),
  };
}

/**
 * Reads key.pem and returns base64 of the SubjectPublicKeyInfo in DER. Throws TypeError if the file
 * contains anything else.
 */
export async function readKeyFile(directory: string): Promise<string> {
  const [, lines] = pemPattern.exec(await readFile(join(directory, 'key.pem'), 'utf8')) ?? [];
  if (lines === undefined) throw new TypeError('The file key.pem holds no public key in PEM.');
  return lines.replaceAll('\n', '');
}

function toPem(publicKey: string): string {
  const lines = publicKey.match(new RegExp(`.{1,${pemLine}}`, 'g')) ?? [];
  return ['-----BEGIN PUBLIC KEY-----', ...lines, '-----END PUBLIC KEY-----', ''].join('\n');
}

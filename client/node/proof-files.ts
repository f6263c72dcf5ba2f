import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { concatBytes } from '@noble/hashes/utils.js';
import { readSignedStatement } from '../authorship/signed-statement.ts';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { AuditProof } from '../proofs/proof-format.ts';

const pemLine = 64;
/** The part before the key in the DER of a SubjectPublicKeyInfo of Ed25519 (RFC 8410). */
const ed25519SpkiPrefix = decodeBase64('MCowBQYDK2VwAyEA');
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
 * Writes author-statement.bin, author-signature.bin and author-key.pem, with which OpenSSL verifies
 * the author's statement in a proof; writes nothing if the entry has none:
 *
 *     openssl pkeyutl -verify -rawin -pubin -inkey author-key.pem -in author-statement.bin \
 *       -sigfile author-signature.bin
 */
export async function writeAuthorFiles(proof: AuditProof, directory: string): Promise<void> {
  const signed = readSignedStatement(proof);
  if (signed === undefined) return;
  const { message, signature, publicKey } = signed;
  await writeFile(join(directory, 'author-statement.bin'), message);
  await writeFile(join(directory, 'author-signature.bin'), signature);
  const spki = encodeBase64(concatBytes(ed25519SpkiPrefix, publicKey));
  await writeFile(join(directory, 'author-key.pem'), toPem(spki));
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

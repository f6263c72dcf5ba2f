import { execFile } from 'node:child_process';
import { hash, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { SigningPurpose } from '../../../signer/protocol/protocol.ts';
import type { TokenFixture } from './token-fixture.ts';

/** A key that was generated outside of the token, and whose private half others thus hold. */
export interface ImportedKey {
  readonly keyId: string;
  /** SPKI DER, base64. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

/** Imports a new key pair into the token under a label, as anyone can who has the PIN. */
export async function importKey(
  fixture: TokenFixture,
  purpose: SigningPurpose,
  generation: number,
): Promise<ImportedKey> {
  const { privateKey, publicKey } =
    purpose === 'audit'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  await runImport(fixture, pem, `${purpose}-${generation}`);
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return {
    keyId: hash('sha256', spki).slice(0, 32),
    publicKey: spki.toString('base64'),
    privateKey,
  };
}

/** Imports a new secret key into the token under a label. */
export async function importSecretKey(fixture: TokenFixture, label: string): Promise<void> {
  await runImport(fixture, randomBytes(32), label, '--aes');
}

async function runImport(
  { directory, environment, pin }: TokenFixture,
  key: string | Buffer,
  label: string,
  ...more: readonly string[]
): Promise<void> {
  const path = join(directory, 'imported-key');
  await writeFile(path, key);
  const id = randomBytes(16).toString('hex');
  const token = environment.SIGNER_TOKEN_LABEL;
  const parameters = ['--token', token, '--pin', pin, '--label', label, '--id', id, ...more];
  await promisify(execFile)('softhsm2-util', ['--import', path, ...parameters], {
    env: { ...process.env, SOFTHSM2_CONF: environment.SOFTHSM2_CONF },
  });
}

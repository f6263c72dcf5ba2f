import { constants, generateKeyPairSync, privateDecrypt } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutionContext } from 'ava';

/** An operator's offline key, with files of both halves. */
export interface OfflineKey {
  readonly publicFile: string;
  readonly privateFile: string;
  /** Decrypts an escrow. */
  decrypt(escrow: string): string;
}

export async function createOfflineKey(t: Pick<ExecutionContext, 'teardown'>): Promise<OfflineKey> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-offline-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 3072,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const publicFile = path.join(directory, 'public.pem');
  const privateFile = path.join(directory, 'private.pem');
  await writeFile(publicFile, publicKey);
  await writeFile(privateFile, privateKey);
  return {
    publicFile,
    privateFile,
    decrypt(escrow) {
      const padding = constants.RSA_PKCS1_OAEP_PADDING;
      const key = { key: privateKey, padding, oaepHash: 'sha256' };
      return privateDecrypt(key, Buffer.from(escrow, 'base64')).toString();
    },
  };
}

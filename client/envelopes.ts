import { randomBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { unwrapKey, wrapKey } from './aes-kw.ts';
import { decodeBase64, encodeBase64 } from './base64.ts';
import type { Bytes } from './bytes.ts';
import { ClientError } from './client-error.ts';
import { KEY_BYTES } from './document-key.ts';
import type { Http } from './http.ts';

const PATH = '/v1/crypto/keys/master-envelope';

const Envelope = z.object({
  encryptedEnvelope: z.base64().length(56),
  algorithm: z.literal('AES-256-KW'),
  version: z.int(),
});

export interface Envelopes {
  /** Makes the user's master key and leaves it with the vault, wrapped. VaultError 409 if one exists. */
  createMasterKey(): Promise<Bytes>;
  /** VaultError 404 if there is none; ClientError invalid_envelope if it does not open. */
  openMasterKey(): Promise<Bytes>;
}

/** No key leaves the client: the vault gets and gives the 40 bytes of the wrapped form alone. */
export function createEnvelopes({
  http,
  passwordKey,
}: {
  http: Http;
  passwordKey: Bytes;
}): Envelopes {
  return {
    async createMasterKey() {
      const masterKey = randomBytes(KEY_BYTES);
      const encryptedEnvelope = encodeBase64(await wrapKey(passwordKey, masterKey));
      await http.send({ method: 'POST', path: PATH, json: { encryptedEnvelope } });
      return masterKey;
    },

    async openMasterKey() {
      const envelope = await http.json(Envelope, { method: 'GET', path: PATH });
      const masterKey = await unwrapKey(passwordKey, decodeBase64(envelope.encryptedEnvelope));
      if (masterKey.length !== KEY_BYTES) throw new ClientError('invalid_envelope');
      return masterKey;
    },
  };
}

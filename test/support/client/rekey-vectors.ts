import { hexToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64 } from '../../../client/bytes/base64.ts';
import { readVectors } from './vectors.ts';

const Hex = z.string().transform(hexToBytes);
const Base64 = z.string().transform(decodeBase64);

/** The test vectors of docs/formats.md for recovery words, devices and a new master key. */
export const rekeyVectors = await readVectors(
  'rekey.json',
  z.object({
    earlierKey: Hex,
    masterKey: Hex,
    recovery: z.object({
      words: z.string(),
      typed: z.string(),
      recoverySalt: Hex,
      authKey: z.string(),
      recoveryVerifier: z.string(),
      recoveryKey: Hex,
      encryptedEnvelope: z.string(),
    }),
    device: z.object({
      deviceId: z.string(),
      deviceKey: Hex,
      publicKey: Base64,
      encryptedEnvelope: Base64,
      info: z.object({ name: z.string(), platform: z.string(), publicKey: Base64 }),
      nonce: Hex,
      encryptedInfo: z.string(),
    }),
    rekey: z.object({
      privateKey: Hex,
      publicKey: Base64,
      deviceEnvelope: Base64,
      earlierPrivateKey: Hex,
      earlierSeed: Hex,
      nonce: Hex,
      keyring: z.string(),
    }),
  }),
);

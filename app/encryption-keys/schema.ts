import { z } from 'zod';
import { Digest, Timestamp } from '../http/bodies/wire.ts';

export const EncryptionKey = z
  .strictObject({
    generation: z.int().min(1).describe('Number of the key, from 1.'),
    isAvailable: z.boolean().meta({
      description: 'Whether the token or the operator gave the key to the process that answers.',
    }),
    createdAt: Timestamp.describe('When the key was created.'),
    usableAt: Timestamp.meta({ description: 'When values begin to be encrypted with the key.' }),
    escrow: z
      .string()
      .nullable()
      .meta({ description: "The key, encrypted for the operator's offline key, base64." }),
    escrowKey: Digest.nullable().meta({
      description: 'SHA-256 of the SPKI DER of the offline key, hex.',
    }),
  })
  .meta({ id: 'EncryptionKey' });

export const EncryptionKeyList = z
  .strictObject({ keys: z.array(EncryptionKey).describe('Encryption keys by generation.') })
  .meta({ id: 'EncryptionKeys' });

export const Escrowed = z
  .strictObject({
    escrowed: z.int().min(0).describe('How many keys were encrypted for the offline key just now.'),
  })
  .meta({ id: 'EscrowedKeys' });

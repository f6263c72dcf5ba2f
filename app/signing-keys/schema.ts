import { z } from 'zod';
import { SigningPurpose } from '../../signer/protocol/protocol.ts';
import { Proof } from '../proof/schema.ts';
import { Digest, Flag, KeyId, Timestamp } from '../http/bodies/wire.ts';

export const KeyToCreate = z.strictObject({ purpose: SigningPurpose });
export const KeyToChange = z.strictObject({ keyId: KeyId });

export const ActivationQuery = z.strictObject({
  predecessorLost: Flag.meta({
    description:
      '`true` states that the token lost the active key, which cannot vouch for its successor. ' +
      'The successor is then activated at once, and only its published fingerprint vouches for ' +
      'it.',
  }),
});

export const Key = z
  .strictObject({
    keyId: KeyId,
    purpose: SigningPurpose,
    algorithm: z.string(),
    publicKey: z.string().meta({ description: 'SPKI DER, base64.' }),
    fingerprint: Digest.meta({
      description:
        'SHA-256 of the SPKI DER, hex; compare it with a fingerprint that was published elsewhere.',
    }),
    generation: z.int(),
    state: z.enum(['CREATED', 'ACTIVE', 'RETIRED']),
    registeredAt: Timestamp,
    activatedAt: Timestamp.nullable(),
    retiredAt: Timestamp.nullable(),
    record: Proof.nullable().meta({
      description:
        'The audit proof of the entry that records the key, signed by the audit key that was ' +
        'active then; null until the entry is signed.',
    }),
    vouchedBy: KeyId.nullable().meta({
      description:
        'The id of the other key that signed the record. Null until the record is signed, and ' +
        'for ever if this is a first key or if its predecessor was lost: trust such a key only ' +
        'by a fingerprint published elsewhere.',
    }),
  })
  .meta({ id: 'SigningKey' });

export const Keys = z.strictObject({ keys: z.array(Key) });

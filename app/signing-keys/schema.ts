import { z } from 'zod';
import { SigningPurpose } from '../../signer/protocol/protocol.ts';
import { Proof } from '../proof/schema.ts';
import { Digest, Flag, KeyId, Timestamp } from '../http/bodies/wire.ts';

export const KeyToCreate = z.strictObject({ purpose: SigningPurpose });
export const KeyToChange = z.strictObject({ keyId: KeyId });

export const ActivationQuery = z.strictObject({
  predecessorLost: Flag.meta({
    description:
      'Set it if the token lost the active key, which can then vouch for no successor. The key ' +
      'is activated at once, and only its published fingerprint vouches for it.',
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
        'active then; null until it is signed.',
    }),
    vouchedBy: KeyId.nullable().meta({
      description:
        'The other key that signed the record. Null until it is signed, and for ever for a first ' +
        'key and for one whose predecessor was lost: trust those only by a fingerprint published ' +
        'elsewhere.',
    }),
  })
  .meta({ id: 'SigningKey' });

export const Keys = z.strictObject({ keys: z.array(Key) });

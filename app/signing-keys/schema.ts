import { z } from 'zod';
import { maxGeneration, SigningPurpose, TokenState } from '../../signer/protocol/protocol.ts';
import { KeyState, Proof } from '../proof/schema.ts';
import { Digest, Flag, KeyId, Moment, Timestamp } from '../http/bodies/wire.ts';

const purpose = SigningPurpose.describe('What the key signs: audit entries or tokens.');

const Generation = z.int().min(1).max(maxGeneration);

export const KeyToCreate = z
  .strictObject({
    purpose,
    generation: Generation.optional().describe(
      'Makes exactly this generation, or returns the key that has it, so that the request may be ' +
        'repeated; by default another key is made each time.',
    ),
  })
  .meta({ id: 'SigningKeyCreation' });
export const KeyToChange = z.strictObject({ keyId: KeyId.describe('Id of a signing key.') });

export const ActivationQuery = z.strictObject({
  predecessorLost: Flag.meta({
    description:
      '`true` states that the token lost the active key, which cannot vouch for its successor. ' +
      'The successor is then activated at once, and only its published fingerprint vouches for ' +
      'it.',
  }),
});

export const CompromiseOfKey = z
  .strictObject({
    since: Moment.describe(
      'The instant since which somebody else may have the key, in ISO 8601 UTC.',
    ),
    successor: KeyId.optional().describe(
      'If the key is active: the created key that becomes active at the same moment.',
    ),
  })
  .meta({ id: 'KeyCompromise' });

export const Key = z
  .strictObject({
    keyId: KeyId.describe('First 32 digits of the fingerprint; `hsmKeyId` of proofs.'),
    purpose,
    algorithm: z.string().describe('Signature algorithm, such as `ECDSA-P256-SHA3-256`.'),
    publicKey: z.string().meta({
      description: 'SubjectPublicKeyInfo in DER, base64.',
      contentEncoding: 'base64',
    }),
    fingerprint: Digest.meta({
      description:
        'SHA-256 of the SPKI DER, hex; compare it with a fingerprint that was published elsewhere.',
    }),
    generation: z.int().min(1).describe('Number of the key among those of its purpose.'),
    imported: z
      .boolean()
      .describe(
        'Whether the HSM did not generate the key, or the key may have left it: others may hold ' +
          'the key too. Never changes.',
      ),
    state: KeyState,
    registeredAt: Timestamp.describe('When the vault recorded the key.'),
    activatedAt: Timestamp.nullable().describe('When the key began to sign; null if it did not.'),
    retiredAt: Timestamp.nullable().describe('When the key ceased to sign; null if it did not.'),
    compromisedSince: Timestamp.nullable().describe(
      'The instant since which somebody else may have the key; null unless it is COMPROMISED.',
    ),
    record: Proof.nullable().meta({
      description:
        'The audit proof of the entry that records the key, signed by the audit key that was ' +
        'active then; null until the entry is signed.',
    }),
    compromise: Proof.nullable().meta({
      description:
        'The audit proof of the entry that records the compromise, signed by another audit key; ' +
        'null until the entry is signed.',
    }),
    vouchedBy: KeyId.nullable().meta({
      description:
        'The id of the other key that signed the record. Null until the record is signed, and ' +
        'for ever if this is a first key or if its predecessor was lost: trust such a key only ' +
        'by a fingerprint published elsewhere.',
    }),
  })
  .meta({ id: 'SigningKey' });

export const Keys = z
  .strictObject({ keys: z.array(Key).describe('Signing keys, oldest generation first.') })
  .meta({ id: 'SigningKeys' });

/** The token behind one process of the app. */
export const HeldKeys = z
  .strictObject({
    tokenState: z
      .enum([...TokenState.options, 'unreachable'])
      .describe('State of the PKCS#11 token; `unreachable` if the signer does not answer.'),
    keyIds: z
      .array(KeyId)
      .nullable()
      .describe(
        'The ids of the signing keys that the token holds, of all purposes; null if they cannot ' +
          'be read.',
      ),
  })
  .meta({ id: 'HeldSigningKeys' });

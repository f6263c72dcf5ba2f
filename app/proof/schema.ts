import { z } from 'zod';
import { maxSealedBytes } from '../../signer/protocol/protocol.ts';
import { proofDefects } from './proof.ts';
import { Base64, Digest, KeyId, Limit, Timestamp, Uuid } from '../http/bodies/wire.ts';

const entryId = Uuid.describe('Id of the audit entry.');

export const EntryId = z.strictObject({ id: entryId });

export const Proof = z
  .strictObject({
    id: z
      .guid()
      .lowercase('must be in lower case')
      .meta({ description: 'Id of the audit entry, in lower case.', format: 'uuid' }),
    entryCanonical: z
      .string()
      .min(2)
      .max(maxSealedBytes)
      .refine((text) => Buffer.byteLength(text) <= maxSealedBytes, 'must be 65,536 bytes at most')
      .describe('The entry as RFC 8785 canonical JSON, of at most 65,536 bytes of UTF-8.'),
    entryHash: Digest.describe('SHA3-256 of the bytes of `entryCanonical`, in hex.'),
    hsmSignature: Base64(80).describe(
      'ECDSA P-256 signature with SHA3-256 over the bytes of `entryCanonical`: DER in base64.',
    ),
    hsmKeyId: KeyId.describe('Id of the signing key: `GET /v1/audit/keys` lists it.'),
    publicKey: Base64(512).describe('Public key of the signature: SPKI DER in base64.'),
  })
  .meta({ id: 'AuditProof' });

export const RestoreProofs = z.array(Proof);

export const KeyState = z
  .enum(['CREATED', 'ACTIVE', 'RETIRED', 'COMPROMISED'])
  .describe('State of a signing key; `ACTIVE` is the key that signs.');

const verdict = {
  valid: z.boolean().describe('Whether the proof has no defect.'),
  hashValid: z.boolean().describe('Whether the text is canonical and has this hash and id.'),
  signatureValid: z.boolean().describe('Whether a registered audit key signed the text.'),
  keyState: KeyState.optional().describe(
    'The state of the signing key; absent if the vault has no such key.',
  ),
  imported: z
    .boolean()
    .optional()
    .describe('Whether the HSM did not generate the signing key: others may hold it too.'),
  compromisedSince: Timestamp.optional().describe(
    'The instant since which somebody else may have the signing key.',
  ),
};
const Defect = z
  .enum(proofDefects)
  .describe('The first defect of the proof; absent if it is valid.');
const verdictNow = {
  ...verdict,
  reason: Defect.optional(),
  verifiedAt: Timestamp.describe('When it was verified.'),
};

export const ExternalVerification = z.strictObject(verdictNow).meta({ id: 'ProofVerification' });

export const EntryVerification = z
  .strictObject({ entryId, ...verdictNow })
  .meta({ id: 'EntryVerification' });

export const ExternalProof = z
  .strictObject({ proof: Proof.describe('An audit proof from anywhere.') })
  .meta({ id: 'ProofVerificationRequest' });

export const Batch = z
  .strictObject({
    ids: z
      .array(Uuid)
      .min(1)
      .max(1000)
      .describe('Ids of 1 to 1000 audit entries; each is verified once.'),
  })
  .meta({ id: 'BatchVerificationRequest' });

/** The reasons why an entry has no proof, as error codes. */
export const absences = [
  'not_found',
  'proof_not_ready',
  'entry_unrecoverable',
  'entry_erased',
  'entry_archived',
] as const;

const BatchVerdict = z
  .strictObject({
    ...verdict,
    reason: z
      .enum([...proofDefects, ...absences])
      .optional()
      .describe('The first defect of the proof, or why the entry has no proof to verify.'),
  })
  .meta({ id: 'BatchVerdict' });

export const BatchVerification = z
  .strictObject({
    total: z.int().min(0).describe('Number of different ids.'),
    valid: z.int().min(0).describe('Number of valid entries.'),
    invalid: z.int().min(0).describe('Number of the others.'),
    results: z.record(z.string(), BatchVerdict).describe('Verdicts by id of the entry.'),
  })
  .meta({ id: 'BatchVerification' });

export const StatusQuery = z.strictObject({
  limit: Limit.describe('Number of entries to verify, from the newest on.'),
});

export const Status = z
  .strictObject({
    checked: z.int().min(0).describe('Number of entries that were verified.'),
    valid: z.int().min(0).describe('Number of valid entries.'),
    invalid: z.int().min(0).describe('Number of entries that are not valid.'),
    pending: z.int().min(0).describe('Entries that are not signed yet, and so not verified.'),
    message: z.string().describe('The result as a sentence for people.'),
  })
  .meta({ id: 'LogVerification' });

/** The member that names the tombstone of an abandoned entry, in errors. */
export const TombstoneReference = z.strictObject({
  proofId: Uuid.describe('Id of the entry that says that this one was abandoned.'),
});

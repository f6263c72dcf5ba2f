import { z } from 'zod';
import { KeyId, SigningPurpose } from './protocol.ts';
import { noOwner } from './reserved-actions.ts';

const Text = z.string();
/** The name of the internal API key of the request, if any: the word of the app. */
const requestedBy = Text.nullable();

/**
 * The `data` of the entries of signing keys, by action. The signer takes purpose, generation,
 * algorithm, public key, fingerprint and `imported` from its token, and refuses entries that say
 * otherwise. `lost` says that the token does not hold the key, so that nobody checked what the
 * entry says of it. All else is the word of the app.
 */
export const keyRecordData = {
  'key.created': z.strictObject({
    requestedBy,
    purpose: SigningPurpose,
    generation: z.int(),
    algorithm: Text,
    publicKey: Text,
    fingerprint: Text,
    imported: z.boolean(),
    state: Text,
  }),
  'key.activated': z.strictObject({
    requestedBy,
    purpose: SigningPurpose,
    at: Text,
    predecessor: KeyId.nullable(),
    predecessorLost: z.literal(true).optional(),
    predecessorCompromised: z.literal(true).optional(),
  }),
  'key.retired': z.strictObject({
    requestedBy,
    purpose: SigningPurpose,
    at: Text,
    successor: KeyId.nullable(),
    lost: z.literal(true).optional(),
  }),
  'key.compromised': z.strictObject({
    requestedBy,
    purpose: SigningPurpose,
    at: Text,
    /** The instant since which somebody else may have the key. */
    since: z.iso.datetime({ precision: 3 }),
    /** The active key that takes its place; null if it was not active. */
    successor: KeyId.nullable(),
    lost: z.literal(true).optional(),
  }),
} as const;

/** Members that every entry of a signing key shares, whichever its action is. */
const frame = {
  actor: z.strictObject({ type: z.literal('system'), id: z.literal('keys') }),
  tenant: z.literal('system'),
  resource: z.strictObject({
    type: z.literal('key'),
    id: KeyId,
    owner: z.literal(noOwner),
  }),
  outcome: z.literal('success'),
};

/** An entry of a signing key. Members that no other entry of a key lacks are left out. */
export const KeyRecord = z.discriminatedUnion('action', [
  recordOf('key.created'),
  recordOf('key.activated'),
  recordOf('key.retired'),
  recordOf('key.compromised'),
]);
export type KeyRecord = z.output<typeof KeyRecord>;

function recordOf<Action extends keyof typeof keyRecordData>(action: Action) {
  return z.object({ ...frame, action: z.literal(action), data: keyRecordData[action] });
}

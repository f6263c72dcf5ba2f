import { z } from 'zod';
import { KeyId, KeyRequest, SigningPurpose, TokenState } from '../protocol/protocol.ts';
import { unavailableCodes } from '../protocol/signer-error.ts';

// Messages between the signer and its HSM process, structured clones over Node's IPC channel.

export const Bytes = z.custom<Buffer>((value) => Buffer.isBuffer(value));

/** The keys that compute MACs: one that never changes, and one that has generations. */
const MacPurpose = z.enum(['mac', 'encryption']);
export type MacPurpose = z.output<typeof MacPurpose>;

/** The HMAC-SHA-256 of a label, and the generation of the key that computed it. */
export const Mac = z.strictObject({ mac: Bytes, generation: z.int().positive() });
export type Mac = z.output<typeof Mac>;

/**
 * A request to the HSM process. `sign` signs each input with the key of that id: a SHA3-256 digest
 * for an audit key, the text to sign by RS256 for a token key. `mac` computes the HMAC of a label
 * with the oldest key `mac`, or with a generation of the key `encryption`, by default the newest.
 * `refresh` reads the keys of the token again. `create_key` creates the next generation of a
 * signing key, with a number above `after`, and answers with its id; with `generation` it creates
 * or finds that one, and answers null for another number. `create_encryption_key` creates the next
 * key `encryption`. `adopt_key` makes an imported key usable. `ping` shows that the process is not
 * stuck in a call.
 */
export const HsmRequest = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('sign'), keyId: KeyId, inputs: z.array(Bytes) }),
  z.strictObject({
    kind: z.literal('mac'),
    purpose: MacPurpose,
    label: z.string(),
    generation: z.int().optional(),
  }),
  z.strictObject({ kind: z.literal('refresh') }),
  KeyRequest.extend({ kind: z.literal('create_key') }),
  z.strictObject({ kind: z.literal('adopt_key'), keyId: KeyId }),
  z.strictObject({ kind: z.literal('create_encryption_key'), after: z.int() }),
  z.strictObject({ kind: z.literal('ping') }),
]);
export type HsmRequest = z.output<typeof HsmRequest>;

/**
 * A message to the HSM process. The response to a request that `isTraced` tells its PKCS#11 calls.
 * `stop`: finish pending requests, release the token and exit.
 */
export const ToHsm = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('request'),
    id: z.int(),
    request: HsmRequest,
    isTraced: z.boolean(),
  }),
  z.strictObject({ kind: z.literal('stop') }),
]);
export type ToHsm = z.output<typeof ToHsm>;

/**
 * A public key of the token. `contested`: another key of the token has the same label. `imported`:
 * the token did not generate the key, or the key may have left the token.
 */
export const KeyInToken = z.strictObject({
  purpose: SigningPurpose,
  generation: z.int().positive(),
  keyId: KeyId,
  spki: Bytes,
  imported: z.boolean(),
  contested: z.boolean(),
});
export type KeyInToken = z.output<typeof KeyInToken>;

/** A PKCS#11 call that returned: function name, duration in seconds and return value. */
const Call = z.tuple([z.string(), z.number(), z.string()]);
export type Call = z.output<typeof Call>;

/** A PKCS#11 call of a request: function name, start and end in Unix milliseconds, return value. */
const TracedCall = z.tuple([z.string(), z.number(), z.number(), z.string()]);
export type TracedCall = z.output<typeof TracedCall>;
const calls = z.array(TracedCall).readonly();

export const FromHsm = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('started') }),
  z.strictObject({ kind: z.literal('answer'), id: z.int(), value: z.unknown(), calls }),
  z.strictObject({
    kind: z.literal('failure'),
    id: z.int(),
    code: z.enum(unavailableCodes),
    message: z.string(),
    calls,
  }),
  z.strictObject({
    kind: z.literal('state'),
    state: TokenState,
    keys: z.array(KeyInToken),
    /** Imported keys that nobody has adopted, which sign nothing. */
    unadopted: z.array(KeyInToken),
  }),
  z.strictObject({
    kind: z.literal('activity'),
    calls: z.array(Call),
    sessionsInUse: z.int(),
    queueDepth: z.int(),
  }),
]);
export type FromHsm = z.output<typeof FromHsm>;
export type Activity = Extract<FromHsm, { kind: 'activity' }>;
export type StateReport = Extract<FromHsm, { kind: 'state' }>;

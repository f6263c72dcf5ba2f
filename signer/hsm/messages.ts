import { z } from 'zod';
import { KeyId, SigningPurpose, TokenState } from '../protocol/protocol.ts';
import { unavailableCodes } from '../protocol/signer-error.ts';

/** What the signer and its HSM process say to each other over Node's IPC, structured clones. */
export const Bytes = z.custom<Buffer>((value) => Buffer.isBuffer(value));

/**
 * `sign`: each input by the key of that id: an ECDSA digest for an audit key, the text of an RS256
 * signature for a token key. `refresh`: looks for keys in the token once more. `create_key`: the
 * next generation of a purpose, above `after`. `ping`: shows that the process is not stuck in a call.
 */
export const HsmRequest = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('sign'), keyId: KeyId, inputs: z.array(Bytes) }),
  z.strictObject({ kind: z.literal('mac'), label: z.string() }),
  z.strictObject({ kind: z.literal('refresh') }),
  z.strictObject({ kind: z.literal('create_key'), purpose: SigningPurpose, after: z.int() }),
  z.strictObject({ kind: z.literal('ping') }),
]);
export type HsmRequest = z.output<typeof HsmRequest>;

/** `stop`: finish what is in hand, let go of the token and end. */
export const ToHsm = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('request'), id: z.int(), request: HsmRequest }),
  z.strictObject({ kind: z.literal('stop') }),
]);
export type ToHsm = z.output<typeof ToHsm>;

/** `contested`: another key of the token has the same label. */
export const KeyInToken = z.strictObject({
  purpose: SigningPurpose,
  generation: z.int().positive(),
  keyId: KeyId,
  spki: Bytes,
  contested: z.boolean(),
});
export type KeyInToken = z.output<typeof KeyInToken>;

/** A PKCS#11 function that returned: its name, duration in seconds and return value. */
const Call = z.tuple([z.string(), z.number(), z.string()]);
export type Call = z.output<typeof Call>;

export const FromHsm = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('started') }),
  z.strictObject({ kind: z.literal('answer'), id: z.int(), value: z.unknown() }),
  z.strictObject({
    kind: z.literal('failure'),
    id: z.int(),
    code: z.enum(unavailableCodes),
    message: z.string(),
  }),
  z.strictObject({ kind: z.literal('state'), state: TokenState, keys: z.array(KeyInToken) }),
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

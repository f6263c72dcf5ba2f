import { z } from 'zod';
import { Count, Text, theUser, type EventKind } from './kind.ts';

const envelope = {
  resource: 'envelope',
  actor: theUser,
  data: z.strictObject({ kind: Text, version: Count, deviceId: Text.optional() }),
} as const satisfies EventKind;

/** The public keys of a user, in base64. */
const identity = z.strictObject({
  fingerprint: Text,
  publicKey: Text,
  signingKey: Text,
  version: Count,
});

/** Entries of the users’ own keys and devices. */
export const keyEvents = {
  'envelope.created': envelope,
  'envelope.replaced': envelope,
  'envelope.removed': envelope,
  'envelope.restored': {
    ...envelope,
    note: 'a version that had been replaced is in force again; `version` is its new version',
  },
  'device.registered': {
    resource: 'device',
    actor: theUser,
    data: z.strictObject({ envelopeId: Text, bySession: Text.nullable() }),
  },
  'device.changed': {
    resource: 'device',
    actor: theUser,
    data: z.strictObject({ bySession: Text.nullable() }),
  },
  'device.revoked': {
    resource: 'device',
    actor: theUser,
    data: z.strictObject({ sessions: Count, bySession: Text.nullable() }),
  },
  'sharing_key.changed': {
    resource: 'sharing_key',
    actor: theUser,
    data: identity.extend({
      previousFingerprint: Text.nullable(),
      endorsement: Text.nullable(),
    }),
    note: '`endorsement` is the signature of the new keys by those before',
  },
  'sharing_key.restored': {
    resource: 'sharing_key',
    actor: theUser,
    data: identity.extend({ previousFingerprint: Text }),
    note: 'a key pair that had been replaced is in force again',
  },
  'memory.recorded': {
    resource: 'memory',
    actor: theUser,
    data: z.strictObject({ number: Count }),
    note: 'a client told the others what it saw of the vault',
  },
  'memory.removed': {
    resource: 'memory',
    actor: theUser,
    data: z.strictObject({ records: Count }),
  },
} as const satisfies Record<string, EventKind>;

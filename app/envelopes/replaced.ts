import { findCredential } from '../accounts/credential-rows.ts';
import type { Owner, Tx } from '../db/database.ts';
import { keepReplaced } from '../replaced-keys/rows/replaced-keys.ts';
import type { EnvelopeRow } from './rows.ts';

/**
 * Keeps a locked master or recovery envelope that the transaction is about to replace; a recovery
 * envelope together with the credential for recovery logins, without which its words would be of no
 * use. A recovery envelope needs a transaction of the service login. Throws quota_exceeded.
 */
export async function keepEnvelope(
  tx: Tx,
  owner: Owner,
  { kind, version, encrypted_envelope: wrappedKey }: EnvelopeRow,
  now: Date,
): Promise<void> {
  if (kind === 'DEVICE') throw new TypeError('device envelopes are not kept');
  const credential = kind === 'RECOVERY' ? await findCredential(tx, owner, 'recovery') : undefined;
  await keepReplaced(tx, owner, {
    kind,
    version,
    wrapped_key: wrappedKey,
    salt: credential?.salt ?? null,
    verifier: credential?.verifier ?? null,
    replaced_at: now,
  });
}

import type { z } from 'zod';
import { findRecovery } from '../accounts/credential-rows.ts';
import type { Acted } from '../audit-trail/act.ts';
import type { RequestEvent } from '../audit-trail/event.ts';
import type { Owner, Tx } from '../db/database.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import { changeRecovery, endRecovery } from '../envelopes/recovery-credential.ts';
import { envelopeEvent } from '../envelopes/recording.ts';
import { keepEnvelope } from '../envelopes/replaced.ts';
import { lockEnvelope, replaceEnvelope } from '../envelopes/rows.ts';
import { AppError } from '../errors/app-error.ts';
import {
  lockIdentity,
  publicIdentityOf,
  recordedIdentity,
  replaceIdentity,
} from '../identities/identity-rows.ts';
import { fingerprintOf } from '../identities/public-identity.ts';
import { replacedRow, takeReplaced, type ReplacedRow } from './rows/replaced-keys.ts';
import type { RestoredKey } from './schema.ts';

type Restored = Acted<z.input<typeof RestoredKey>>;

interface ReplacedEnvelope extends ReplacedRow {
  /**
   * Whether to restore the credential for recovery logins as well. The account must be locked then.
   */
  readonly hasCredential: boolean;
}

/**
 * Puts a replaced master or recovery envelope in force again, a recovery envelope together with the
 * credential of its words. `tx` must be a transaction of the service login. Throws not_found.
 */
export async function restoreEnvelope(
  tx: Tx,
  cipher: RowCipher,
  owner: Owner,
  replaced: ReplacedEnvelope,
  now: Date,
): Promise<Restored> {
  const { id, kind, hasCredential, key_generation: generation, wrapped_key: wrappedKey } = replaced;
  if (kind === 'SHARING') throw new TypeError('a sharing key is no envelope');
  const present = await lockEnvelope(tx, owner, { kind });
  if (present === undefined) throw new AppError('not_found');
  await takeReplaced(tx, owner, id);
  await keepEnvelope(tx, cipher, owner, present, now);
  const opened = cipher.decrypt(replacedRow(replaced), { generation, values: { wrappedKey } });
  const content = { encryptedEnvelope: opened.wrappedKey };
  const row = await replaceEnvelope(tx, cipher, present, content, now);
  const changed = hasCredential ? await restoreCredential(tx, owner, replaced, now) : [];
  return {
    answer: { kind, version: row.version },
    events: [...changed, envelopeEvent('envelope.restored', row)],
  };
}

/** Makes the credential for recovery logins what it was when the envelope was replaced. */
async function restoreCredential(
  tx: Tx,
  owner: Owner,
  { salt, verifier }: ReplacedRow,
  now: Date,
): Promise<RequestEvent[]> {
  const present = await findRecovery(tx, owner);
  if (salt === null || verifier === null) {
    return present === undefined ? [] : [await endRecovery(tx, owner)];
  }
  const isSame = present?.salt === salt && present.verifier === verifier;
  return isSame ? [] : [await changeRecovery(tx, owner, { salt, verifier }, now)];
}

/** Puts a replaced identity in force again. Throws not_found. */
export async function restoreSharingKey(
  tx: Tx,
  owner: Owner,
  replaced: ReplacedRow,
  now: Date,
): Promise<Restored> {
  const { public_key: publicKey, signing_key: signingKey } = replaced;
  if (publicKey === null || signingKey === null) {
    throw new TypeError('the replaced identity has no public keys');
  }
  await takeReplaced(tx, owner, replaced.id);
  const present = await lockIdentity(tx, owner);
  if (present === undefined) throw new AppError('not_found');
  const row = await replaceIdentity(
    tx,
    present,
    {
      publicKey,
      signingKey,
      wrappedPrivateKey: replaced.wrapped_key,
      wrappedSigningKey: replaced.wrapped_signing_key,
    },
    now,
  );
  return {
    answer: { kind: 'SHARING', version: row.version },
    events: [
      {
        action: 'sharing_key.restored',
        resource: { type: 'sharing_key', id: owner.userId },
        data: {
          ...recordedIdentity(row),
          previousFingerprint: fingerprintOf(publicIdentityOf(present)),
        },
      },
    ],
  };
}

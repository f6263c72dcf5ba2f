import type { z } from 'zod';
import { fingerprint } from '../accounts/fingerprint.ts';
import { holdAccount, storeCredential, type Credential } from '../accounts/credentials.ts';
import { assertSaltLength } from '../accounts/salt-length.ts';
import { byOwner } from '../trail/event.ts';
import type { AuditTrail } from '../trail/trail.ts';
import { assertFreshLogin } from '../sessions/fresh-login.ts';
import { endRecoverySessions } from '../sessions/login-sessions.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { assertIfMatch, type IfMatch } from '../http/answers/precondition.ts';
import type { KeyForm, ToEnvelope } from './key-form.ts';
import { envelopeEvent } from './recording.ts';
import { insertEnvelope, replaceEnvelope, selectEnvelope, toStored } from './rows.ts';
import type { EnvelopeView, StoredEnvelope } from './schema.ts';

type Stored = z.input<typeof StoredEnvelope>;
type View = z.input<typeof EnvelopeView>;

/** An envelope of which every user has one: the master key under the password, or the recovery words. */
interface EnvelopeChange {
  readonly kind: 'MASTER' | 'RECOVERY';
  readonly form: KeyForm;
  /** For a login by the recovery words. What there was is gone, and so are sessions that began with it. */
  readonly credential?: Credential | undefined;
}

/** Each throws as ToEnvelope does, and access_denied for the credential of a user of another issuer. */
export interface Envelopes {
  /**
   * Throws envelope_exists, and reauth_required for a credential that neither a fresh login nor
   * `isProven` vouches for.
   */
  create(
    caller: Caller,
    change: EnvelopeChange & { readonly isProven?: boolean },
    requestId: string,
  ): Promise<Stored>;
  /** With the keyring of the master envelope, whichever is asked for. Throws not_found. */
  get(caller: Caller, kind: EnvelopeChange['kind']): Promise<View>;
  /** The next version of the one that `ifMatch` names. Throws not_found or as assertIfMatch does. */
  replace(
    caller: Caller,
    change: EnvelopeChange,
    ifMatch: IfMatch | undefined,
    requestId: string,
  ): Promise<Stored>;
}

interface EnvelopesOptions {
  /** Our own. */
  readonly issuer: string;
  readonly unknownUser: 'reveal' | 'decoy';
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly toEnvelope: ToEnvelope;
  readonly clock: Clock;
}

export function createEnvelopes(options: EnvelopesOptions): Envelopes {
  const { issuer, unknownUser, db, audit, toEnvelope, clock } = options;

  /** Does `work` in one transaction with the change of the credential, if there is one. */
  async function withCredential<T>(
    caller: Caller,
    credential: Credential | undefined,
    requestId: string,
    work: (tx: Tx) => Promise<T>,
  ): Promise<T> {
    if (credential === undefined) return db.asUser(caller, work);
    if (caller.issuer !== issuer) throw new AppError('access_denied');
    assertSaltLength(credential.salt, unknownUser, 'recoverySalt');
    // The service's transaction: credentials are in no user's reach.
    return db.asService(async (tx) => {
      await holdAccount(tx, caller);
      await storeCredential(tx, caller, 'recovery', credential, clock());
      const sessions = await endRecoverySessions(tx, caller.userId);
      await audit.append(tx, {
        action: 'credentials.changed',
        ...byOwner(caller, requestId),
        resource: { type: 'account', id: caller.userId },
        data: {
          method: 'recovery',
          credentialFingerprint: fingerprint(credential.salt, credential.verifier),
          sessions,
        },
      });
      return work(tx);
    });
  }

  return {
    async create(caller, { kind, form, credential, isProven = false }, requestId) {
      const encryptedEnvelope = toEnvelope(form);
      audit.assertWritable();
      return withCredential(caller, credential, requestId, async (tx) => {
        if (credential !== undefined && !isProven) await assertFreshLogin(tx, caller, clock());
        const row = await insertEnvelope(tx, caller, { kind }, { encryptedEnvelope });
        await audit.append(tx, envelopeEvent('envelope.created', row, caller, requestId));
        return toStored(row);
      });
    },

    get: (caller, kind) =>
      db.asUser(caller, async (tx) => {
        const master = selectEnvelope(tx, caller, { kind: 'MASTER' }).clearSelect();
        // In one statement, and so of one moment: a rekey changes both.
        const row = await selectEnvelope(tx, caller, { kind })
          .select(master.select('key_envelopes.keyring').as('masterKeyring'))
          .executeTakeFirst();
        if (row === undefined) throw new AppError('not_found');
        return { ...toStored(row), keyring: row.masterKeyring, createdAt: row.created_at };
      }),

    async replace(caller, { kind, form, credential }, ifMatch, requestId) {
      const encryptedEnvelope = toEnvelope(form);
      audit.assertWritable();
      return withCredential(caller, credential, requestId, async (tx) => {
        const present = await selectEnvelope(tx, caller, { kind }).forUpdate().executeTakeFirst();
        if (present === undefined) throw new AppError('not_found');
        assertIfMatch(ifMatch, present.version);
        const row = await replaceEnvelope(tx, present, { encryptedEnvelope }, clock());
        await audit.append(tx, envelopeEvent('envelope.replaced', row, caller, requestId));
        return toStored(row);
      });
    },
  };
}

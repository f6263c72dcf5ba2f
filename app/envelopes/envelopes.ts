import type { z } from 'zod';
import { lockAccount, storeCredential, type Credential } from '../accounts/credential-rows.ts';
import { fingerprint } from '../accounts/fingerprint.ts';
import { assertSaltLength } from '../accounts/salt-length.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import { assertIfMatch, type IfMatch } from '../http/responses/precondition.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { assertFreshLogin } from '../sessions/fresh-login.ts';
import { endRecoverySessions } from '../sessions/login-sessions.ts';
import { backlogChecked, type Act, type Acted } from '../audit-trail/act.ts';
import type { RequestEvent } from '../audit-trail/event.ts';
import type { KeyForm, ToEnvelope } from './key-form.ts';
import { envelopeEvent } from './recording.ts';
import {
  insertEnvelope,
  lockEnvelope,
  replaceEnvelope,
  selectEnvelope,
  toStored,
  type EnvelopeRow,
} from './rows.ts';
import type { EnvelopeView, StoredEnvelope } from './schema.ts';

type Stored = z.input<typeof StoredEnvelope>;
type View = z.input<typeof EnvelopeView>;

/**
 * A change of the master envelope or the recovery envelope: the master key wrapped under the
 * password or under the recovery words. A user has at most one envelope of each kind.
 */
interface EnvelopeChange {
  readonly kind: 'MASTER' | 'RECOVERY';
  readonly form: KeyForm;
  /**
   * A new credential for recovery logins. Storing it ends the sessions of earlier recovery logins.
   */
  readonly credential?: Credential | undefined;
}

interface NewEnvelope extends EnvelopeChange {
  /** Whether the request carries a valid reauthentication token. */
  readonly isProven?: boolean;
}

interface EnvelopesOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly unknownUser: 'reveal' | 'decoy';
  readonly db: Database;
  readonly act: Act;
  readonly toEnvelope: ToEnvelope;
  readonly clock: Clock;
}

export type Envelopes = ReturnType<typeof createEnvelopes>;

/**
 * Creates the service that stores users' master and recovery envelopes. `create` and `replace`
 * throw as `toEnvelope` does, and access_denied if a user of another issuer sends a credential.
 */
export function createEnvelopes(options: EnvelopesOptions) {
  const { issuer, unknownUser, db, act, toEnvelope, clock } = options;

  /**
   * Runs `work`, which stores an envelope, and stores `credential`, if given, in the same
   * transaction.
   */
  async function store(
    request: ServiceRequest,
    credential: Credential | undefined,
    work: (tx: Tx) => Promise<Acted<Stored>>,
  ): Promise<Stored> {
    if (credential === undefined) return act(request, work);
    act.assertWritable();
    const { caller } = request;
    if (caller.issuer !== issuer) throw new AppError('access_denied');
    assertSaltLength(credential.salt, unknownUser, 'recoverySalt');
    // Only the service login can write credentials.
    const storeBoth = async (tx: Tx) => {
      await lockAccount(tx, caller);
      const { answer, events } = await work(tx);
      const changed = await changeRecovery(tx, caller, credential, clock());
      return { answer, events: [changed, ...events] };
    };
    return act.asService(request, storeBoth, backlogChecked);
  }

  return {
    /**
     * Adds an envelope. Throws envelope_exists, and reauth_required if a credential is sent without
     * a fresh login or a valid reauthentication token (`isProven`).
     */
    async create(request: ServiceRequest, change: NewEnvelope): Promise<Stored> {
      const { kind, form, credential, isProven = false } = change;
      const { caller } = request;
      const encryptedEnvelope = toEnvelope(form);
      return store(request, credential, async (tx) => {
        if (credential !== undefined && !isProven) await assertFreshLogin(tx, caller, clock());
        const row = await insertEnvelope(tx, caller, { kind }, { encryptedEnvelope });
        return acted('envelope.created', row);
      });
    },

    /** Returns an envelope together with the keyring of the master envelope. Throws not_found. */
    get: ({ caller }: ServiceRequest, kind: EnvelopeChange['kind']): Promise<View> =>
      db.asUser(caller, async (tx) => {
        const master = selectEnvelope(tx, caller, { kind: 'MASTER' }).clearSelect();
        // Read the envelope and the keyring in one statement, and so from one snapshot: a rekey
        // changes both.
        const row = await selectEnvelope(tx, caller, { kind })
          .select(master.select('key_envelopes.keyring').as('masterKeyring'))
          .executeTakeFirst();
        if (row === undefined) throw new AppError('not_found');
        return { ...toStored(row), keyring: row.masterKeyring, createdAt: row.created_at };
      }),

    /**
     * Replaces an envelope by its next version, if its present version matches `ifMatch`. Throws
     * not_found, precondition_required or precondition_failed.
     */
    async replace(
      request: ServiceRequest,
      { kind, form, credential }: EnvelopeChange,
      ifMatch: IfMatch | undefined,
    ): Promise<Stored> {
      const encryptedEnvelope = toEnvelope(form);
      return store(request, credential, async (tx) => {
        const present = await lockEnvelope(tx, request.caller, { kind });
        if (present === undefined) throw new AppError('not_found');
        assertIfMatch(ifMatch, present.version);
        const row = await replaceEnvelope(tx, present, { encryptedEnvelope }, clock());
        return acted('envelope.replaced', row);
      });
    },
  };
}

function acted(action: 'envelope.created' | 'envelope.replaced', row: EnvelopeRow): Acted<Stored> {
  return { answer: toStored(row), events: [envelopeEvent(action, row)] };
}

/** Stores a credential for recovery logins, and ends the sessions of earlier recovery logins. */
async function changeRecovery(
  tx: Tx,
  caller: Caller,
  credential: Credential,
  now: Date,
): Promise<RequestEvent> {
  await storeCredential(tx, caller, 'recovery', credential, now);
  const sessions = await endRecoverySessions(tx, caller.userId);
  return {
    action: 'credentials.changed',
    resource: { type: 'account', id: caller.userId },
    data: {
      method: 'recovery',
      credentialFingerprint: fingerprint(credential.salt, credential.verifier),
      sessions,
    },
  };
}

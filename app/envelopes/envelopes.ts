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
import type { Act, Acted } from '../audit-trail/act.ts';
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

/** An envelope of which every user has one: the master key under password or recovery words. */
interface EnvelopeChange {
  readonly kind: 'MASTER' | 'RECOVERY';
  readonly form: KeyForm;
  /** A new credential for recovery logins. It ends the login sessions of the one before. */
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
 * Creates the service that stores users' master and recovery envelopes. Its changes throw as
 * `toEnvelope` does, and access_denied for the credential of a user of another issuer.
 */
export function createEnvelopes(options: EnvelopesOptions) {
  const { issuer, unknownUser, db, act, toEnvelope, clock } = options;

  /** Stores an envelope in one transaction with the change's credential, if it brings one. */
  async function store(
    request: ServiceRequest,
    credential: Credential | undefined,
    work: (tx: Tx) => Promise<Acted<Stored>>,
  ): Promise<Stored> {
    if (credential === undefined) return act(request, work);
    const { caller } = request;
    if (caller.issuer !== issuer) throw new AppError('access_denied');
    assertSaltLength(credential.salt, unknownUser, 'recoverySalt');
    // Only the service login can write credentials.
    return act.asService(request, async (tx) => {
      await lockAccount(tx, caller);
      const { answer, events } = await work(tx);
      const changed = await changeRecovery(tx, caller, credential, clock());
      return { answer, events: [changed, ...events] };
    });
  }

  return {
    /**
     * Adds an envelope. Throws envelope_exists, and reauth_required for a credential without a
     * fresh login or a reauthentication token (`isProven`).
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

    /** Returns an envelope with the keyring of the master envelope. Throws not_found. */
    get: ({ caller }: ServiceRequest, kind: EnvelopeChange['kind']): Promise<View> =>
      db.asUser(caller, async (tx) => {
        const master = selectEnvelope(tx, caller, { kind: 'MASTER' }).clearSelect();
        // One statement reads both from one snapshot: a rekey changes both.
        const row = await selectEnvelope(tx, caller, { kind })
          .select(master.select('key_envelopes.keyring').as('masterKeyring'))
          .executeTakeFirst();
        if (row === undefined) throw new AppError('not_found');
        return { ...toStored(row), keyring: row.masterKeyring, createdAt: row.created_at };
      }),

    /**
     * Replaces the envelope whose version `ifMatch` names by its next version. Throws not_found,
     * precondition_required or precondition_failed.
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

/** Stores a credential for recovery logins, and ends the login sessions of the one before. */
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

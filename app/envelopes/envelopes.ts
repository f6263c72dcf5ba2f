import type { z } from 'zod';
import { lockAccount, type Credential } from '../accounts/credential-rows.ts';
import { assertSaltLength } from '../accounts/salt-length.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Tx } from '../db/database.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import { AppError } from '../errors/app-error.ts';
import { assertIfMatch, type IfMatch } from '../http/responses/precondition.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { FreshProof } from '../sessions/fresh-proof.ts';
import { backlogChecked, type Act, type Acted } from '../audit-trail/act.ts';
import type { KeyForm, ToEnvelope } from './key-form.ts';
import { keepEnvelope } from './replaced.ts';
import { changeRecovery } from './recovery-credential.ts';
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
type Work = (tx: Tx) => Promise<Acted<Stored>>;
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
  readonly proof: FreshProof;
}

interface EnvelopesOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly unknownUser: 'reveal' | 'decoy';
  readonly db: Database;
  readonly cipher: RowCipher;
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
  const { issuer, unknownUser, db, cipher, act, toEnvelope, clock } = options;

  /** Runs `work`, which stores an envelope, and stores `credential` in the same transaction. */
  async function storeBoth(
    request: ServiceRequest,
    credential: Credential,
    work: Work,
  ): Promise<Stored> {
    act.assertWritable(request);
    const { caller } = request;
    if (caller.issuer !== issuer) throw new AppError('access_denied');
    assertSaltLength(credential.salt, unknownUser, 'recoverySalt');
    return act.asService(
      request,
      async (tx) => {
        await lockAccount(tx, caller);
        const { answer, events } = await work(tx);
        const changed = await changeRecovery(tx, caller, credential, clock());
        return { answer, events: [changed, ...events] };
      },
      backlogChecked,
    );
  }

  return {
    /**
     * Adds an envelope. Throws envelope_exists, and as `FreshProof.assertGiven` does for a
     * credential without a fresh proof.
     */
    async create(request: ServiceRequest, change: EnvelopeChange): Promise<Stored> {
      const { kind, form, credential, proof } = change;
      const encryptedEnvelope = toEnvelope(form);
      const work: Work = async (tx) => {
        if (credential !== undefined) await proof.assertGiven(tx);
        const content = { encryptedEnvelope, isProven: await proof.isGiven(tx) };
        const row = await insertEnvelope(tx, cipher, request.caller, { kind }, content);
        return acted(cipher, 'envelope.created', row);
      };
      return credential === undefined ? act(request, work) : storeBoth(request, credential, work);
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
        const stored = toStored(cipher, row);
        return { ...stored, keyring: row.masterKeyring, createdAt: row.created_at };
      }),

    /**
     * Replaces an envelope by its next version, if its present version matches `ifMatch`, and keeps
     * the former version for 30 days. Throws as `FreshProof` does without a fresh proof, which for
     * a credential must be a reauthentication token; not_found, precondition_required,
     * precondition_failed or quota_exceeded.
     */
    async replace(
      request: ServiceRequest,
      { kind, form, credential, proof }: EnvelopeChange,
      ifMatch: IfMatch | undefined,
    ): Promise<Stored> {
      const { caller } = request;
      const encryptedEnvelope = toEnvelope(form);
      if (credential !== undefined) proof.assertReauthenticated();
      const work: Work = async (tx) => {
        await proof.assertGiven(tx);
        const present = await lockEnvelope(tx, caller, { kind });
        if (present === undefined) throw new AppError('not_found');
        assertIfMatch(ifMatch, present.version);
        const now = clock();
        await keepEnvelope(tx, cipher, caller, present, now);
        const row = await replaceEnvelope(tx, cipher, present, { encryptedEnvelope }, now);
        return acted(cipher, 'envelope.replaced', row);
      };
      if (credential !== undefined) return storeBoth(request, credential, work);
      // Only the service login can read the credential that is kept with a recovery envelope.
      return kind === 'RECOVERY' ? act.asService(request, work) : act(request, work);
    },
  };
}

function acted(
  cipher: RowCipher,
  action: 'envelope.created' | 'envelope.replaced',
  row: EnvelopeRow,
): Acted<Stored> {
  return { answer: toStored(cipher, row), events: [envelopeEvent(action, row)] };
}

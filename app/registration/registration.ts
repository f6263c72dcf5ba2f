import { v7 as uuidv7 } from 'uuid';
import { storePassword } from '../accounts/credential-rows.ts';
import { hashEmail } from '../accounts/email.ts';
import { newAccount } from '../accounts/new-account.ts';
import { assertSaltLength } from '../accounts/salt-length.ts';
import type { Clock } from '../async/clock.ts';
import { ofQueue, type Database, type Owner, type Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { LabelledKeys } from '../signing-keys/labelled-keys.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import { noticeExpiry } from '../outbox/mail.ts';
import { messageRow, type Outbox, type OutboxPayloads } from '../outbox/outbox.ts';
import { backlogChecked, type Act, type Acted } from '../audit-trail/act.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import { takeMessage } from '../outbox/waiting.ts';
import { admitMail } from './mail-limits.ts';
import { registrationRow } from './registration-encryption.ts';
import { createValidationMails, hashToken } from './validation-mails.ts';

/** A sign-up as a client sends it; salt and verifier in hex. */
interface SignUp {
  readonly email: string;
  readonly salt: string;
  readonly verifier: string;
}

type PromisedSignUp = OutboxPayloads['registration'];

/** The most registrations that an account keeps whose tokens are valid. */
const maxKept = 10;

interface RegistrationOptions {
  readonly db: Database;
  readonly cipher: RowCipher;
  readonly act: Act;
  readonly audit: AuditTrail;
  readonly outbox: Outbox;
  readonly keys: LabelledKeys;
  readonly limits: RateLimits;
  readonly unknownUser: 'reveal' | 'decoy';
  readonly clock: Clock;
}

export type Registration = ReturnType<typeof createRegistration>;

/** Creates the service that registers accounts and activates them. */
export function createRegistration(options: RegistrationOptions) {
  const { db, cipher, act, audit, outbox, keys, limits, unknownUser, clock } = options;
  const validation = createValidationMails(options);

  async function tellRegistered(tx: Tx, email: string): Promise<void> {
    await outbox.add(tx, 'email', {
      to: email,
      template: 'already-registered',
      values: {},
      expiresAt: noticeExpiry(clock()),
    });
  }

  /**
   * Adds a registration, with the id of its outbox message as its id, and adds its validation
   * e-mail to the outbox.
   */
  async function addRegistration(
    tx: Tx,
    id: string,
    { email, salt, verifier }: SignUp,
    userId: string,
  ): Promise<void> {
    const { generation, values } = cipher.encrypt(registrationRow(id, userId), { salt, verifier });
    const token = await validation.promise(tx, { userId, email, salt, verifier });
    await tx
      .insertInto('registrations')
      .values({ id, account_id: userId, key_generation: generation, ...values, ...token })
      .execute();
  }

  async function enrol(tx: Tx, signUp: PromisedSignUp, id: string): Promise<void> {
    // Handle each message only once: after the owner has validated the account, a second run would
    // tell the owner that somebody registered the e-mail address again.
    if (!(await takeMessage(tx, id))) return;
    // Without its e-mail, nobody could ever validate the registration.
    if (!signUp.isMailed) return;
    const { userId, tenantId, status } = await lockAccountOf(tx, signUp.email);
    if (status === 'ACTIVE') {
      await tellRegistered(tx, signUp.email);
      return;
    }
    if (!(await hasRoom(tx, userId, clock()))) return;
    const credential = cipher.decrypt(messageRow(id), signUp.credential);
    await addRegistration(tx, id, { email: signUp.email, ...credential }, userId);
    await audit.append(tx, {
      action: 'account.registered',
      actor: { type: 'anonymous', id: null },
      owner: { userId, tenantId },
      resource: { type: 'account', id: userId },
      requestId: signUp.requestId,
      data: { emailHash: signUp.emailHash },
    });
  }

  return {
    /**
     * Accepts a sign-up and stores it in the outbox; `enrol` processes the sign-up after the
     * response. The work, and so its timing, is the same whether or not the e-mail address has an
     * account, and whether or not its e-mail is left out because the e-mail address was registered
     * too often. Throws validation_failed, audit_backlog_full, or rate_limited if the client
     * address registered too often.
     */
    async signUp(
      request: ServiceRequest<undefined>,
      { email, salt, verifier }: SignUp,
    ): Promise<void> {
      assertSaltLength(salt, unknownUser);
      act.assertWritable(request);
      const emailHash = hashEmail(keys.get('email-hash'), email);
      const isMailed = await admitMail(limits, request.clientAddress, email);
      const id = uuidv7();
      const credential = cipher.encrypt(messageRow(id), { salt, verifier });
      const { requestId } = request;
      const promised = { email, credential, emailHash, requestId, isMailed };
      const promise = async (tx: Tx) => {
        await outbox.add(tx, 'registration', promised, { id });
        return { answer: undefined, events: [] };
      };
      await act.asService(request, promise, backlogChecked);
    },

    /**
     * Processes a sign-up that `signUp` accepted, for the outbox worker. `id` is the id of the
     * outbox message. Idempotent: a second call does nothing.
     */
    enrol: (promised: PromisedSignUp, id: string): Promise<void> =>
      db.asService((tx) => enrol(tx, promised, id), ofQueue),

    /**
     * Activates the account of the registration that the token belongs to. If the token is unknown,
     * expired or already used, resolves in the same way without an effect. Throws
     * audit_backlog_full or rate_limited.
     */
    async validateEmail(request: ServiceRequest<undefined>, token: string): Promise<void> {
      act.assertWritable(request);
      await limits.consume('validate-address', request.clientAddress);
      const options = { ...backlogChecked, ...ofQueue };
      await act.asService(request, (tx) => activate(tx, cipher, token, clock), options);
    },
  };
}

async function activate(
  tx: Tx,
  cipher: RowCipher,
  token: string,
  clock: Clock,
): Promise<Acted<void>> {
  const registration = await lockRegistration(tx, token, clock());
  if (registration === undefined) return { answer: undefined, events: [] };
  const { id, userId, tenantId, key_generation: generation, salt, verifier } = registration;
  await tx
    .updateTable('accounts')
    .set({ status: 'ACTIVE', activated_at: clock() })
    .where('id', '=', userId)
    .execute();
  const row = registrationRow(id, userId);
  const credential = cipher.decrypt(row, { generation, values: { salt, verifier } });
  await storePassword(tx, cipher, { userId }, credential, clock());
  await tx.deleteFrom('registrations').where('account_id', '=', userId).execute();
  const event = {
    action: 'account.activated',
    actor: { type: 'user', id: userId },
    owner: { userId, tenantId },
    resource: { type: 'account', id: userId },
    data: {},
  } as const;
  return { answer: undefined, events: [event] };
}

/**
 * Locks the row of the account with an e-mail address for the rest of `tx`. Adds the account first
 * if it does not exist.
 */
async function lockAccountOf(tx: Tx, email: string): Promise<Owner & { readonly status: string }> {
  await tx
    .insertInto('accounts')
    .values({ id: uuidv7(), email, status: 'PENDING_VALIDATION', ...newAccount })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .execute();
  takesLock(tx, 'account');
  return tx
    .selectFrom('accounts')
    .select(['id as userId', 'tenant_id as tenantId', 'status'])
    .where('email', '=', email)
    .forUpdate()
    .executeTakeFirstOrThrow();
}

/**
 * Removes the registrations of an account whose tokens have expired. Resolves with whether the
 * account may keep another one: a new registration never replaces one that can be validated, which
 * may be the owner's. The account's row must be locked.
 */
async function hasRoom(tx: Tx, accountId: string, now: Date): Promise<boolean> {
  await tx
    .deleteFrom('registrations')
    .where('account_id', '=', accountId)
    .where('expires_at', '<=', now)
    .execute();
  const { count } = await tx
    .selectFrom('registrations')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  return count < maxKept;
}

/**
 * Locks the row of the account that an unexpired token activates. Resolves with the registration,
 * or undefined if the token activates no account.
 */
function lockRegistration(tx: Tx, token: string, now: Date) {
  takesLock(tx, 'account');
  return tx
    .selectFrom('registrations')
    .innerJoin('accounts', 'accounts.id', 'registrations.account_id')
    .select([
      'registrations.id',
      'accounts.id as userId',
      'accounts.tenant_id as tenantId',
      'key_generation',
      'salt',
      'verifier',
    ])
    .where('token_hash', '=', hashToken(token))
    .where('expires_at', '>', now)
    .where('status', '=', 'PENDING_VALIDATION')
    .forUpdate('accounts')
    .executeTakeFirst();
}

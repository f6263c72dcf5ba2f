import { createHash, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { AuditTrail } from '../trail/trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Tx } from '../db/database.ts';
import type { Origin } from '../http/requests/request.ts';
import type { LabelledKeys } from '../keys/labelled-keys.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import { noticeExpiry } from '../outbox/mail.ts';
import type { Outbox, OutboxPayloads } from '../outbox/outbox.ts';
import { hashEmail } from '../accounts/email.ts';
import { fingerprint } from '../accounts/fingerprint.ts';
import { newAccount } from '../accounts/new-account.ts';
import { assertSaltLength } from '../accounts/salt-length.ts';

/** What a client signs up with: hex. */
interface SignUp {
  readonly email: string;
  readonly salt: string;
  readonly verifier: string;
}

export interface Registration {
  /**
   * Takes a sign-up on. Only written down here, and looked at by `enrol` once the answer is out: so
   * the work is the same whether or not the address has an account. Throws rate_limited.
   */
  request(signUp: SignUp, from: Origin): Promise<void>;
  /** Does what `request` promised, by the id of the message: again, it does nothing. */
  enrol(promised: OutboxPayloads['registration'], id: string): Promise<void>;
  /** Activates the registration the token belongs to. Says nothing of whether there was one. */
  validateEmail(token: string, from: Origin): Promise<void>;
}

const tokenMs = 3_600_000;

interface RegistrationOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly outbox: Outbox;
  readonly keys: LabelledKeys;
  readonly limits: RateLimits;
  readonly unknownUser: 'reveal' | 'decoy';
  readonly clock: Clock;
}

export function createRegistration(options: RegistrationOptions): Registration {
  const { db, audit, outbox, keys, limits, unknownUser, clock } = options;

  return {
    async request({ email, salt, verifier }, { address, requestId }) {
      assertSaltLength(salt, unknownUser);
      audit.assertWritable();
      const emailHash = hashEmail(keys.get('email-hash'), email);
      await limits.consume('register-address', address);
      await limits.consume('register-email', email);
      const promised = { email, salt, verifier, emailHash, requestId };
      await db.asService((tx) => outbox.add(tx, 'registration', promised));
    },

    enrol: ({ email, salt, verifier, emailHash, requestId }, id) =>
      db.asService(async (tx) => {
        if (!(await takePromise(tx, id))) return;
        const account = await holdAccount(tx, email);
        if (account.status === 'ACTIVE') {
          await outbox.add(tx, 'email', {
            to: email,
            template: 'already-registered',
            values: {},
            expiresAt: noticeExpiry(clock()),
          });
          return;
        }
        const token = randomUUID();
        const expiresAt = new Date(clock().getTime() + tokenMs);
        await tx
          .insertInto('registrations')
          .values({
            id,
            account_id: account.userId,
            salt,
            verifier,
            token_hash: hashToken(token),
            expires_at: expiresAt,
          })
          .execute();
        await outbox.add(
          tx,
          'email',
          {
            to: email,
            template: 'validate',
            values: { token, fingerprint: fingerprint(salt, verifier) },
            expiresAt: expiresAt.toISOString(),
          },
          { userId: account.userId },
        );
        await audit.append(tx, {
          action: 'account.registered',
          actor: { type: 'anonymous', id: null },
          owner: account,
          resource: { type: 'account', id: account.userId },
          requestId,
          data: { emailHash },
        });
      }),

    async validateEmail(token, { address, requestId }) {
      audit.assertWritable();
      await limits.consume('validate-address', address);
      await db.asService(async (tx) => {
        const registration = await takeRegistration(tx, token, clock());
        if (registration === undefined) return;
        const { userId, tenantId, salt, verifier } = registration;
        await tx
          .updateTable('accounts')
          .set({ status: 'ACTIVE', activated_at: clock() })
          .where('id', '=', userId)
          .execute();
        await tx.insertInto('credentials').values({ account_id: userId, salt, verifier }).execute();
        await tx.deleteFrom('registrations').where('account_id', '=', userId).execute();
        await audit.append(tx, {
          action: 'account.activated',
          actor: { type: 'user', id: userId },
          owner: { userId, tenantId },
          resource: { type: 'account', id: userId },
          requestId,
          data: { credentialFingerprint: fingerprint(salt, verifier) },
        });
      });
    },
  };
}

/**
 * Erases the message with what comes of it. Done twice, it would tell owners who validated their
 * address in between that somebody else registered it. False where it is done already.
 */
async function takePromise(tx: Tx, messageId: string): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('outbox')
    .where('id', '=', messageId)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** The account of an address, made if there is none, locked until the transaction ends. */
async function holdAccount(tx: Tx, email: string) {
  await tx
    .insertInto('accounts')
    .values({ id: uuidv7(), email, status: 'PENDING_VALIDATION', ...newAccount })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .execute();
  return tx
    .selectFrom('accounts')
    .select(['id as userId', 'tenant_id as tenantId', 'status'])
    .where('email', '=', email)
    .forUpdate()
    .executeTakeFirstOrThrow();
}

function takeRegistration(tx: Tx, token: string, now: Date) {
  return tx
    .selectFrom('registrations')
    .innerJoin('accounts', 'accounts.id', 'registrations.account_id')
    .select(['accounts.id as userId', 'accounts.tenant_id as tenantId', 'salt', 'verifier'])
    .where('token_hash', '=', hashToken(token))
    .where('expires_at', '>', now)
    .where('status', '=', 'PENDING_VALIDATION')
    .forUpdate('accounts')
    .executeTakeFirst();
}

/** Tokens are kept only as this hash. */
function hashToken(token: string): string {
  return createHash('sha3-256').update(token).digest('hex');
}

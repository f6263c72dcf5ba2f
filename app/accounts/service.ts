import { createHash, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { AuditTrail } from '../audit/trail.ts';
import type { LabelledKeys } from '../keys/labelled-keys.ts';
import type { Clock } from '../clock.ts';
import type { Database, Owner, Tx } from '../db/database.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { hashEmail } from './email.ts';

/** An account that can log in. */
export interface ActiveAccount extends Owner {
  readonly plan: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  /** Hex. */
  readonly salt: string;
  readonly verifier: string;
}

export interface Accounts {
  /** Records one registration. Does the same whether or not the address has an account. */
  register(
    sign: { email: string; salt: string; verifier: string },
    requestId: string,
  ): Promise<void>;
  /** Activates the registration the token belongs to. Says nothing of whether there was one. */
  validateEmail(token: string, requestId: string): Promise<void>;
  findActiveByEmail(email: string): Promise<ActiveAccount | undefined>;
  findActiveById(accountId: string): Promise<ActiveAccount | undefined>;
}

const tokenHours = 1;

/** What every new account is given (contract, "Accounts and SRP-6a"). */
const newAccount = {
  tenant_id: 'default',
  plan: 'standard',
  roles: ['user'],
  scopes: [
    'documents:read',
    'documents:write',
    'uploads:write',
    'keys:manage',
    'audit:read',
    'jobs:submit',
    'sync:read',
    'sync:write',
    'mfa:manage',
  ],
};

interface AccountsOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly outbox: Outbox;
  readonly keys: LabelledKeys;
  readonly clock: Clock;
}

export function createAccounts({ db, audit, outbox, keys, clock }: AccountsOptions): Accounts {
  async function addRegistration(
    tx: Tx,
    account: Owner & { email: string },
    { salt, verifier, emailHash }: { salt: string; verifier: string; emailHash: string },
    requestId: string,
  ): Promise<void> {
    const token = randomUUID();
    await tx
      .insertInto('registrations')
      .values({
        id: uuidv7(),
        account_id: account.userId,
        salt,
        verifier,
        token_hash: hashToken(token),
        expires_at: new Date(clock().getTime() + tokenHours * 3_600_000),
      })
      .execute();
    await outbox.add(tx, 'email', {
      to: account.email,
      template: 'validate',
      values: { token, fingerprint: fingerprint(salt, verifier) },
    });
    await audit.append(tx, {
      action: 'account.registered',
      actor: { type: 'anonymous', id: null },
      owner: account,
      resource: { type: 'account', id: account.userId },
      requestId,
      data: { emailHash },
    });
  }

  return {
    async register({ email, salt, verifier }, requestId) {
      audit.assertWritable();
      // Asked for first, whether or not it is needed: its absence must not tell the two apart.
      const emailHash = hashEmail(keys.get('email-hash'), email);
      await db.asService(async (tx) => {
        await tx
          .insertInto('accounts')
          .values({ id: uuidv7(), email, status: 'PENDING_VALIDATION', ...newAccount })
          .onConflict((conflict) => conflict.column('email').doNothing())
          .execute();
        const account = await tx
          .selectFrom('accounts')
          .select(['id as userId', 'tenant_id as tenantId', 'status'])
          .where('email', '=', email)
          .forUpdate()
          .executeTakeFirstOrThrow();
        if (account.status === 'ACTIVE') {
          await outbox.add(tx, 'email', { to: email, template: 'already-registered', values: {} });
        } else {
          await addRegistration(
            tx,
            { ...account, email },
            { salt, verifier, emailHash },
            requestId,
          );
        }
      });
    },

    async validateEmail(token, requestId) {
      await db.asService(async (tx) => {
        const registration = await tx
          .selectFrom('registrations')
          .innerJoin('accounts', 'accounts.id', 'registrations.account_id')
          .select(['accounts.id as userId', 'accounts.tenant_id as tenantId', 'salt', 'verifier'])
          .where('token_hash', '=', hashToken(token))
          .where('expires_at', '>', clock())
          .where('status', '=', 'PENDING_VALIDATION')
          .forUpdate('accounts')
          .executeTakeFirst();
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

    findActiveByEmail: (email) =>
      db.asService((tx) => findActive(tx).where('email', '=', email).executeTakeFirst()),
    findActiveById: (accountId) =>
      db.asService((tx) => findActive(tx).where('accounts.id', '=', accountId).executeTakeFirst()),
  };
}

function findActive(tx: Tx) {
  return tx
    .selectFrom('accounts')
    .innerJoin('credentials', 'credentials.account_id', 'accounts.id')
    .select([
      'accounts.id as userId',
      'tenant_id as tenantId',
      'plan',
      'roles',
      'scopes',
      'salt',
      'verifier',
    ])
    .where('status', '=', 'ACTIVE');
}

/** Tokens are kept only as this hash. */
function hashToken(token: string): string {
  return createHash('sha3-256').update(token).digest('hex');
}

/** First 8 hex digits of H(salt ‖ verifier): what the mail and the client both show. */
function fingerprint(salt: string, verifier: string): string {
  return createHash('sha3-256')
    .update(Buffer.from(salt, 'hex'))
    .update(Buffer.from(verifier, 'hex'))
    .digest('hex')
    .slice(0, 8);
}

import type { Clock } from '../../async/clock.ts';
import { forgetAddressesOf } from '../../auth/login/known-client-addresses.ts';
import { lengthy, type Database, type Owner, type Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { lockEnvelope } from '../../envelopes/rows.ts';
import { AppError } from '../../errors/app-error.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { forgetLater } from '../../mfa/account-closure.ts';
import { noticeExpiry } from '../../outbox/mail.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { removeWaitingMails } from '../../outbox/waiting.ts';
import { endSessions } from '../../sessions/login-sessions.ts';
import type { Revocations } from '../../sessions/revocations.ts';
import type { Act, Acted } from '../../audit-trail/act.ts';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import type { Uploads } from '../../uploads/uploads.ts';
import { removeRows } from '../owned-rows.ts';
import { removeData } from './owned-data.ts';

/** Milliseconds from the closure to the sweep: longer than any request that can add data takes. */
const sweepAfterMs = 300_000;

interface ClosureOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly db: Database;
  readonly act: Act;
  readonly audit: AuditTrail;
  readonly outbox: Outbox;
  readonly uploads: Uploads;
  readonly revocations: Revocations;
  readonly clock: Clock;
}

export type Closure = ReturnType<typeof createClosure>;

/**
 * Creates the service that closes accounts. Sealed documents, audit entries and audit proofs are
 * kept.
 */
export function createClosure(options: ClosureOptions) {
  const { issuer, db, act, audit, outbox, uploads, revocations, clock } = options;

  async function closeAccount(tx: Tx, { caller }: ServiceRequest, now: Date): Promise<Acted<void>> {
    const email = await forgetEmail(tx, caller, now);
    if (email === undefined) throw new AppError('invalid_token');
    const keys = await removeKeys(tx, caller);
    await endLogins(tx, caller);
    // This process refuses this login session at once. Other processes refuse it, and all
    // processes refuse the account's other sessions, within 5 s.
    if (caller.sessionId !== undefined) await revocations.revoke(tx, caller, caller.sessionId);
    await removeWaitingMails(tx, [caller.userId], email);
    const { counts, isMore } = await removeData(tx, { uploads, outbox }, caller);
    await outbox.add(tx, 'email', {
      to: email,
      template: 'account-closed',
      values: {},
      expiresAt: noticeExpiry(now),
    });
    await forgetLater(tx, outbox, caller.userId);
    await sweepLater(tx, outbox, caller, isMore ? now : afterRequests(now));
    const closed = {
      action: 'account.closed',
      resource: { type: 'account', id: caller.userId },
      data: { ...keys, ...counts },
    } as const;
    return { answer: undefined, events: [closed] };
  }

  return {
    /**
     * Closes the caller's account in one transaction: forgets the e-mail address, which may be
     * registered again, revokes the login sessions, and removes credentials, envelopes, uploads,
     * unsealed documents, shares and synchronised objects; the outbox deletes their stored objects
     * later. Removes everything that was committed before, except that of over `closureBatchSize`
     * rows of a kind `sweep` removes the rest, at once and batch by batch. Only a request that was
     * admitted before can still add an upload session, an envelope, a share or a login session:
     * `sweep` removes such additions too. Throws access_denied for users of other issuers, and
     * invalid_token if the account is closed already.
     */
    async close(request: ServiceRequest): Promise<void> {
      if (request.caller.issuer !== issuer) throw new AppError('access_denied');
      await act.asService(request, (tx) => closeAccount(tx, request, clock()), lengthy);
    },

    /**
     * Removes the next batch of what is left of an account after its closure, or was added since.
     * If it removed anything, schedules another sweep: at once if more may be left. Has no effect
     * if the account is not closed.
     */
    sweep: (owner: Owner): Promise<void> =>
      db.asService(async (tx) => {
        if (!(await isClosed(tx, owner))) return;
        const keys = await removeKeys(tx, owner);
        const sessions = await endLogins(tx, owner);
        const { counts, isMore } = await removeData(tx, { uploads, outbox }, owner);
        const removed = { sessions, ...keys, ...counts };
        const isDone = !isMore && Object.values(removed).every((count) => count === 0);
        if (isDone) return;
        const now = clock();
        await sweepLater(tx, outbox, owner, isMore ? now : afterRequests(now));
        await audit.append(tx, {
          action: 'account.swept',
          actor: { type: 'system', id: null },
          owner,
          resource: { type: 'account', id: owner.userId },
          requestId: null,
          data: removed,
        });
      }, lengthy),
  };
}

/**
 * Removes a user's envelopes and devices. Call it before any login session is locked
 * (app/db/lock-order.ts).
 */
async function removeKeys(tx: Tx, owner: Owner) {
  await lockEnvelope(tx, owner, { kind: 'MASTER' });
  const { counts } = await removeRows(tx, owner, 'keys');
  return { envelopes: counts.key_envelopes ?? 0, devices: counts.devices ?? 0 };
}

/** Returns the time when the requests that were admitted before `now` are over. */
function afterRequests(now: Date): Date {
  return new Date(now.getTime() + sweepAfterMs);
}

function sweepLater(
  tx: Tx,
  outbox: Outbox,
  { userId, tenantId }: Owner,
  notBefore: Date,
): Promise<void> {
  return outbox.addAll(tx, 'account.sweep', [{ userId, tenantId }], notBefore);
}

/**
 * Closes an active account, removes its e-mail address and returns the e-mail address. Returns
 * undefined if the account was not active.
 */
async function forgetEmail(
  tx: Tx,
  { userId, tenantId }: Owner,
  now: Date,
): Promise<string | undefined> {
  takesLock(tx, 'account');
  const account = await tx
    .selectFrom('accounts')
    .select('email')
    .where('id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'ACTIVE')
    .forUpdate()
    .executeTakeFirst();
  if (account === undefined || account.email === null) return undefined;
  await tx
    .updateTable('accounts')
    .set({ status: 'CLOSED', email: null, closed_at: now })
    .where('id', '=', userId)
    .execute();
  return account.email;
}

async function isClosed(tx: Tx, { userId }: Owner): Promise<boolean> {
  const account = await tx
    .selectFrom('accounts')
    .select('id')
    .where('id', '=', userId)
    .where('status', '=', 'CLOSED')
    .executeTakeFirst();
  return account !== undefined;
}

/**
 * Removes an account's credentials, registrations and known client addresses, and ends all its
 * login sessions. Resolves with the number of ended login sessions.
 */
async function endLogins(tx: Tx, { userId }: Owner): Promise<number> {
  await tx.deleteFrom('credentials').where('account_id', '=', userId).execute();
  await tx.deleteFrom('registrations').where('account_id', '=', userId).execute();
  await forgetAddressesOf(tx, [userId]);
  return endSessions(tx, userId);
}

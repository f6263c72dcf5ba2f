import { sql } from 'kysely';
import { byOwner } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import { endSessions } from '../../sessions/login-sessions.ts';
import type { Revocations } from '../../sessions/revocations.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database, Owner, Tx } from '../../db/database.ts';
import type { Documents } from '../../documents/documents.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import { noticeExpiry } from '../../outbox/mail.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import type { Sharing } from '../../sharing/sharing.ts';
import { removeKeys, removeSynchronised } from './rows.ts';

/** The end of an account. Its sealed documents, entries and proofs stay as they are. */
export interface Closure {
  /**
   * In one transaction the address is forgotten and may be registered anew, sessions are revoked,
   * and credentials, envelopes, uploads and unsealed documents are gone, with what is stored of
   * them to follow, and all that was shared by the user or with them. Whatever runs at the same time: what is committed before is removed here, an
   * upload that is not a document by then never becomes one, and no part, completion or seal finds
   * its row. Only a request already let in can add an upload session, an envelope, a share or a
   * login afterwards: `sweep` ends it. Throws access_denied for users of other issuers, and invalid_token
   * for an account that is closed already.
   */
  close(caller: Caller, requestId: string): Promise<void>;
  /** Removes what was added to a closed account after all; later again, if there was something. */
  sweep(owner: Owner): Promise<void>;
}

/** Longer than any request that creates something lasts. */
const sweepAfterMs = 300_000;

interface ClosureOptions {
  /** Our own. */
  readonly issuer: string;
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly outbox: Outbox;
  readonly documents: Documents;
  readonly sharing: Sharing;
  readonly revocations: Revocations;
  readonly clock: Clock;
}

export function createClosure(options: ClosureOptions): Closure {
  const { issuer, db, audit, outbox, documents, sharing, revocations, clock } = options;

  /** Answers how many rows of each kind there were. */
  async function removeAll(tx: Tx, owner: Owner) {
    const shared = await sharing.removeAll(tx, owner);
    const removed = await documents.removeUnsealed(tx, owner);
    return { ...removed, ...shared, ...(await removeSynchronised(tx, owner)) };
  }

  function sweepLater(tx: Tx, { userId, tenantId }: Owner): Promise<void> {
    const notBefore = new Date(clock().getTime() + sweepAfterMs);
    return outbox.addAll(tx, 'account.sweep', [{ userId, tenantId }], notBefore);
  }

  return {
    async close(caller, requestId) {
      if (caller.issuer !== issuer) throw new AppError('access_denied');
      audit.assertWritable();
      await db.asService(async (tx) => {
        const email = await forgetAddress(tx, caller, clock());
        if (email === undefined) throw new AppError('invalid_token');
        const keys = await removeKeys(tx, caller);
        await endLogins(tx, caller);
        // Here at once; its other sessions, and other processes, follow within 5 s.
        if (caller.sessionId !== undefined) await revocations.revoke(tx, caller.sessionId);
        await removeMails(tx, caller, email);
        const removed = { ...keys, ...(await removeAll(tx, caller)) };
        await outbox.add(tx, 'email', {
          to: email,
          template: 'account-closed',
          values: {},
          expiresAt: noticeExpiry(clock()),
        });
        await sweepLater(tx, caller);
        await audit.append(tx, {
          action: 'account.closed',
          ...byOwner(caller, requestId),
          resource: { type: 'account', id: caller.userId },
          data: removed,
        });
      });
    },

    sweep: (owner) =>
      db.asService(async (tx) => {
        if (!(await isClosed(tx, owner))) return;
        const keys = await removeKeys(tx, owner);
        const sessions = await endLogins(tx, owner);
        const removed = { sessions, ...keys, ...(await removeAll(tx, owner)) };
        if (Object.values(removed).every((count) => count === 0)) return;
        await sweepLater(tx, owner);
        await audit.append(tx, {
          action: 'account.swept',
          actor: { type: 'system', id: null },
          owner,
          resource: { type: 'account', id: owner.userId },
          requestId: null,
          data: removed,
        });
      }),
  };
}

/** Closes the account and answers the address it had; undefined unless it was active. */
async function forgetAddress(
  tx: Tx,
  { userId, tenantId }: Owner,
  now: Date,
): Promise<string | undefined> {
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

/** Leaves nothing to log in with, and no session that goes on. Answers how many did. */
async function endLogins(tx: Tx, { userId }: Owner): Promise<number> {
  await tx.deleteFrom('credentials').where('account_id', '=', userId).execute();
  await tx.deleteFrom('registrations').where('account_id', '=', userId).execute();
  await tx.deleteFrom('known_addresses').where('account_id', '=', userId).execute();
  return endSessions(tx, userId);
}

/** Those not sent yet. One that is being sent just now may still arrive. */
async function removeMails(tx: Tx, { userId }: Owner, email: string): Promise<void> {
  await tx
    .deleteFrom('outbox')
    .where('kind', '=', 'email')
    .where(sql<boolean>`(user_id = ${userId} or payload::json ->> 'to' = ${email})`)
    .execute();
}

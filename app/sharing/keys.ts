import type { z } from 'zod';
import { byOwner } from '../trail/event.ts';
import type { AuditTrail } from '../trail/trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { assertIfMatch, type IfMatch } from '../http/answers/precondition.ts';
import { fingerprintOf } from './public-key.ts';
import type { SharingKeyChange, SharingKeyView } from './schema.ts';

type Change = z.output<typeof SharingKeyChange>;
type View = z.input<typeof SharingKeyView>;

export interface SharingKeys {
  /**
   * Stores the first key pair of a user, or replaces the one that `ifMatch` names. What was shared
   * under an earlier public key needs the earlier private key. Throws precondition_required or
   * precondition_failed.
   */
  put(
    caller: Caller,
    change: Change,
    ifMatch: IfMatch | undefined,
    requestId: string,
  ): Promise<View>;
  /** Throws not_found. */
  get(caller: Caller): Promise<View>;
}

interface SharingKeysOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly clock: Clock;
}

export function createSharingKeys({ db, audit, clock }: SharingKeysOptions): SharingKeys {
  /** Undefined where another request stored one just now. */
  function insert(tx: Tx, { userId, tenantId }: Caller, change: Change) {
    const now = clock();
    return tx
      .insertInto('sharing_keys')
      .values({
        user_id: userId,
        tenant_id: tenantId,
        public_key: change.publicKey,
        wrapped_private_key: change.wrappedPrivateKey,
        created_at: now,
        updated_at: now,
      })
      .onConflict((conflict) => conflict.columns(['user_id', 'tenant_id']).doNothing())
      .returningAll()
      .executeTakeFirst();
  }

  function replace(tx: Tx, { userId }: Caller, change: Change, version: number) {
    return tx
      .updateTable('sharing_keys')
      .set({
        public_key: change.publicKey,
        wrapped_private_key: change.wrappedPrivateKey,
        version,
        updated_at: clock(),
      })
      .where('user_id', '=', userId)
      .returningAll()
      .executeTakeFirstOrThrow();
  }

  async function store(tx: Tx, caller: Caller, change: Change, ifMatch: IfMatch | undefined) {
    const present = await find(tx, caller).forUpdate().executeTakeFirst();
    if (present === undefined) {
      if (ifMatch !== undefined) throw new AppError('precondition_failed');
      const inserted = await insert(tx, caller, change);
      if (inserted === undefined) throw new AppError('precondition_required');
      return inserted;
    }
    assertIfMatch(ifMatch, present.version);
    return replace(tx, caller, change, present.version + 1);
  }

  return {
    async put(caller, change, ifMatch, requestId) {
      audit.assertWritable();
      return db.asUser(caller, async (tx) => {
        const row = await store(tx, caller, change, ifMatch);
        await audit.append(tx, {
          action: 'sharing_key.changed',
          ...byOwner(caller, requestId),
          resource: { type: 'sharing_key', id: caller.userId },
          data: { fingerprint: fingerprintOf(row.public_key), version: row.version },
        });
        return toView(row);
      });
    },

    get: (caller) =>
      db.asUser(caller, async (tx) => {
        const row = await find(tx, caller).executeTakeFirst();
        if (row === undefined) throw new AppError('not_found');
        return toView(row);
      }),
  };
}

function find(tx: Tx, { userId }: Caller) {
  return tx.selectFrom('sharing_keys').selectAll().where('user_id', '=', userId);
}

interface Row {
  readonly public_key: string;
  readonly wrapped_private_key: string;
  readonly version: number;
  readonly created_at: Date;
}

function toView(row: Row): View {
  return {
    publicKey: row.public_key,
    wrappedPrivateKey: row.wrapped_private_key,
    version: row.version,
    createdAt: row.created_at,
  };
}

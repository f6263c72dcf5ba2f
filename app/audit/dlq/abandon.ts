import { hash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Tx } from '../../db/database.ts';
import { assertWaiting, lockLetter, type DeadLetter } from './letters.ts';
import type { DlqOptions, Operator } from './retry.ts';
import type { AuditEvent } from '../../trail/event.ts';

interface AbandonedEntry {
  readonly id: string;
  readonly reason: string | null;
  readonly by: string | null;
  readonly at: Date;
}

/**
 * Gives a dead entry up for good: a tombstone, signed in its place, says which entry of which
 * resource it was and what text it had. Throws not_found, entry_not_dead, retry_in_progress.
 */
export type Abandon = (
  entryId: string,
  reason: string | null,
  operator: Operator,
) => Promise<AbandonedEntry>;

export function createAbandon({
  db,
  audit,
  clock,
}: Pick<DlqOptions, 'db' | 'audit' | 'clock'>): Abandon {
  return async (entryId, reason, operator) => {
    audit.assertWritable();
    return db.asService(async (tx) => {
      const letter = await lockLetter(tx, entryId);
      assertWaiting(letter);
      const at = clock();
      const tombstoneId = uuidv7();
      await tx
        .updateTable('audit_entries')
        .set({ state: 'ABANDONED', claim_id: null, claimed_until: null })
        .where('id', '=', entryId)
        .execute();
      await tx
        .updateTable('audit_dead_letters')
        .set({
          status: 'ABANDONED',
          ended_at: at,
          tombstone_id: tombstoneId,
          abandon_reason: reason,
          abandoned_by: operator.by,
        })
        .where('entry_id', '=', entryId)
        .execute();
      const textHash = hash('sha3-256', await readText(tx, entryId));
      await audit.append(
        tx,
        tombstoneOf({ entryId, textHash, letter, reason, operator }),
        tombstoneId,
      );
      return { id: entryId, reason, by: operator.by, at };
    });
  };
}

async function readText(tx: Tx, entryId: string): Promise<string> {
  const { canonical } = await tx
    .selectFrom('audit_entries')
    .select('canonical')
    .where('id', '=', entryId)
    .executeTakeFirstOrThrow();
  if (canonical === null) throw new Error('a dead entry keeps its text');
  return canonical;
}

interface Tombstone {
  readonly entryId: string;
  /** SHA3-256 of the dead entry's text, hex. */
  readonly textHash: string;
  readonly letter: DeadLetter;
  readonly reason: string | null;
  readonly operator: Operator;
}

function tombstoneOf({ entryId, textHash, letter, reason, operator }: Tombstone): AuditEvent {
  return {
    action: 'audit.abandoned',
    actor: operator.actor,
    owner: letter.owner,
    resource: { type: 'audit_entry', id: entryId },
    requestId: operator.requestId,
    data: {
      textHash,
      resourceType: letter.resource.type,
      resourceId: letter.resource.id,
      seq: letter.seq,
      lastError: letter.reason,
      reason,
      by: operator.by,
    },
  };
}

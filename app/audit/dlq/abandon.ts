import { hash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Tx } from '../../db/database.ts';
import { assertWaiting, lockLetter, type DeadLetter } from './letters.ts';
import { operatorOf, type Operator } from './operator.ts';
import type { DlqOptions } from './retry.ts';
import type { Caller, InternalCaller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { RequestEvent } from '../../audit-trail/event.ts';

interface AbandonedEntry {
  readonly id: string;
  readonly reason: string | null;
  readonly by: string | null;
  readonly at: Date;
}

export type Abandon = ReturnType<typeof createAbandon>;

/** Creates the function that abandons an entry in the dead-letter queue. */
export function createAbandon({ act, clock }: Pick<DlqOptions, 'act' | 'clock'>) {
  /**
   * Abandons a dead entry for good and appends a tombstone: an audit entry that records the
   * resource of the abandoned entry, its `seq`, and the hash of its text. Throws not_found,
   * entry_not_dead, retry_in_progress or audit_backlog_full.
   */
  return (
    request: ServiceRequest<Caller | InternalCaller>,
    entryId: string,
    {
      reason = null,
      by = null,
    }: {
      readonly reason?: string | null | undefined;
      readonly by?: string | null | undefined;
    },
  ): Promise<AbandonedEntry> =>
    act.asService(request, async (tx) => {
      const operator = operatorOf(request, by);
      const letter = await lockLetter(tx, entryId, operator.reach);
      assertWaiting(letter);
      const at = clock();
      const tombstoneId = uuidv7();
      await tx
        .updateTable('audit_dead_letters')
        .set({
          status: 'ABANDONED',
          ended_at: at,
          tombstone_id: tombstoneId,
          abandon_reason: reason,
          abandoned_by: by,
          claim_id: null,
          claimed_until: null,
        })
        .where('entry_id', '=', entryId)
        .execute();
      const textHash = hash('sha3-256', await readText(tx, entryId));
      const tombstone = tombstoneOf({ entryId, tombstoneId, textHash, letter, reason, operator });
      return { answer: { id: entryId, reason, by, at }, events: [tombstone] };
    });
}

async function readText(tx: Tx, entryId: string): Promise<string> {
  const { canonical } = await tx
    .selectFrom('audit_log')
    .select('canonical')
    .where('id', '=', entryId)
    .executeTakeFirstOrThrow();
  if (canonical === null) throw new Error(`the dead entry ${entryId} has no text`);
  return canonical;
}

interface Tombstone {
  readonly entryId: string;
  readonly tombstoneId: string;
  /** SHA3-256 of the dead entry's text, hex. */
  readonly textHash: string;
  readonly letter: DeadLetter;
  readonly reason: string | null;
  readonly operator: Operator;
}

function tombstoneOf(tombstone: Tombstone): RequestEvent {
  const { entryId, tombstoneId, textHash, letter, reason, operator } = tombstone;
  return {
    action: 'audit.abandoned',
    entryId: tombstoneId,
    actor: operator.actor,
    owner: letter.owner,
    resource: { type: 'audit_entry', id: entryId },
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

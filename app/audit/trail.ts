import { randomBytes } from 'node:crypto';
import canonicalize from 'canonicalize';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { AuditEntry } from '../../signer/entry.ts';
import type { Clock } from '../clock.ts';
import { afterCommit, type Tx } from '../db/database.ts';
import { AppError } from '../errors.ts';
import type { AuditEvent } from './event.ts';

export interface AuditTrail {
  /**
   * Records an event in the transaction of the action it tells of, to be signed right after the
   * commit. Call it last: it locks the resource's sequence. Answers the entry's id.
   */
  append(tx: Tx, event: AuditEvent, id?: string): Promise<string>;
  /** Throws audit_backlog_full while too many entries wait for their signature. */
  assertWritable(): void;
}

interface TrailOptions {
  readonly clock: Clock;
  /** Wakes the sealer. */
  readonly onCommitted: () => void;
  readonly isBacklogFull: () => boolean;
}

export function createAuditTrail({ clock, onCommitted, isBacklogFull }: TrailOptions): AuditTrail {
  return {
    async append(tx, event, id = uuidv7()) {
      const seq = await nextSeq(tx, event);
      const { owner, resource } = event;
      await tx
        .insertInto('audit_entries')
        .values({
          id,
          user_id: owner.userId,
          tenant_id: owner.tenantId,
          resource_type: resource.type,
          resource_id: resource.id,
          seq,
          action: event.action,
          canonical: canonicalEntry(id, seq, event, clock()),
        })
        .execute();
      afterCommit(tx, onCommitted);
      return id;
    },
    assertWritable() {
      if (isBacklogFull()) throw new AppError('audit_backlog_full', { retryAfterSeconds: 30 });
    },
  };
}

/** Gapless: the row stays locked until the transaction ends, and a rollback gives it back. */
async function nextSeq(tx: Tx, { owner, resource }: AuditEvent): Promise<number> {
  const { last_seq } = await tx
    .insertInto('audit_sequences')
    .values({
      user_id: owner.userId,
      tenant_id: owner.tenantId,
      resource_type: resource.type,
      resource_id: resource.id,
      last_seq: 1,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'resource_type', 'resource_id'])
        .doUpdateSet({ last_seq: sql`audit_sequences.last_seq + 1` }),
    )
    .returning('last_seq')
    .executeTakeFirstOrThrow();
  return last_seq;
}

/** The RFC 8785 text that is hashed and signed. */
function canonicalEntry(id: string, seq: number, event: AuditEvent, at: Date): string {
  const entry: AuditEntry = {
    v: 1,
    id,
    timestamp: at.toISOString(),
    actor: event.actor,
    tenant: event.owner.tenantId,
    action: event.action,
    resource: { ...event.resource, owner: event.owner.userId },
    seq,
    outcome: event.outcome ?? 'success',
    requestId: event.requestId,
    data: event.data,
    salt: randomBytes(32).toString('base64'),
  };
  const text = canonicalize(entry);
  if (text === undefined) throw new TypeError('an audit entry always has a canonical form');
  return text;
}

import { randomBytes } from 'node:crypto';
import { sql, type QueryCreator } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { AuditEntry } from '../../signer/protocol/entry.ts';
import { canonicalText } from '../json/canonical-text.ts';
import type { Clock } from '../async/clock.ts';
import { afterCommit, type Tx } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { AppError } from '../errors/app-error.ts';
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
      const { owner, resource } = event;
      const [head, tail] = textAroundSeq(id, event, clock());
      await tx
        .with('next', (cte) => nextSeq(cte, event))
        .insertInto('audit_entries')
        .values(({ selectFrom }) => ({
          id,
          user_id: owner.userId,
          tenant_id: owner.tenantId,
          resource_type: resource.type,
          resource_id: resource.id,
          seq: selectFrom('next').select('last_seq'),
          action: event.action,
          canonical: selectFrom('next').select(
            sql<string>`${head}::text || last_seq || ${tail}`.as('canonical'),
          ),
        }))
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
function nextSeq(cte: QueryCreator<Schema>, { owner, resource }: AuditEvent) {
  return cte
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
        .columns(['user_id', 'tenant_id', 'resource_type', 'resource_id'])
        .doUpdateSet({ last_seq: sql`audit_sequences.last_seq + 1` }),
    )
    .returning('last_seq');
}

/**
 * The RFC 8785 text that is hashed and signed, before and after its `seq`, which is known only to
 * the statement that stores it.
 */
function textAroundSeq(id: string, event: AuditEvent, at: Date): [head: string, tail: string] {
  const entry: Omit<AuditEntry, 'seq'> = {
    v: 1,
    id,
    timestamp: at.toISOString(),
    actor: event.actor,
    tenant: event.owner.tenantId,
    action: event.action,
    resource: { ...event.resource, owner: event.owner.userId },
    outcome: event.outcome ?? 'success',
    requestId: event.requestId,
    data: event.data,
    salt: randomBytes(32).toString('base64'),
  };
  // Members stand in the order of their names, and there are some on both sides of it.
  const members = Object.entries(entry);
  const before = canonicalText(Object.fromEntries(members.filter(([name]) => name < 'seq')));
  const after = canonicalText(Object.fromEntries(members.filter(([name]) => name > 'seq')));
  return [`${before.slice(0, -1)},"seq":`, `,${after.slice(1)}`];
}

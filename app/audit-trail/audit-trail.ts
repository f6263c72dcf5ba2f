import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { AuditEntry } from '../../signer/protocol/entry.ts';
import { canonicalText } from '../json/canonical-text.ts';
import type { Clock } from '../async/clock.ts';
import type { Tx } from '../db/database.ts';
import { compileOnce } from '../db/compile-once.ts';
import { afterCommit, commitWith } from '../db/transaction.ts';
import { takesLock } from '../db/lock-order.ts';
import { hasState, lacksPartition } from '../db/pg-error.ts';
import { AppError } from '../errors/app-error.ts';
import type { AppendingSpans } from './appending-spans.ts';
import type { AuditAction, AuditEvent } from './event.ts';

interface TrailOptions {
  /** The vault's public URL, by which the entries name the vault. */
  readonly issuer: string;
  readonly clock: Clock;
  /** Throws clock_skew while `clock` is known to be wrong. */
  readonly assertClock: () => void;
  /** Called for each new entry after the commit. */
  readonly onCommitted: (action: AuditAction) => void;
  /** Returns whether too many entries of an owner, or of all owners, wait for their signature. */
  readonly isBacklogFull: (ownerId: string | undefined) => boolean;
  /** Told of each new entry, in the span that appends it; absent if nobody seals entries here. */
  readonly spans?: Pick<AppendingSpans, 'note'>;
}

/** The SQLSTATE with which `entry_text` refuses a time that Postgres contradicts. */
const clockState = 'PC001';

export type AuditTrail = ReturnType<typeof createAuditTrail>;

/** Creates the service that appends audit entries. */
export function createAuditTrail(options: TrailOptions) {
  const { issuer, clock, assertClock, onCommitted, isBacklogFull, spans } = options;

  /**
   * Sends the statement that appends an event's entry; `appended` settles with it. Call it last in
   * the transaction, since it locks the trail of the event's resource. The sealer signs the
   * entry soon after the commit.
   */
  function send(tx: Tx, event: AuditEvent): { id: string; appended: Promise<unknown> } {
    assertClock();
    const { entryId: id = uuidv7(), owner, resource } = event;
    const at = clock();
    const [head, tail] = textAroundSeq({ id, issuer, at }, event);
    takesLock(tx, 'audit trail');
    const appended = insertEntry(tx, {
      id,
      userId: owner.userId,
      tenantId: owner.tenantId,
      resourceType: resource.type,
      resourceId: resource.id,
      action: event.action,
      head,
      tail,
      at,
    }).catch(explainFailure);
    // The entry may be claimed for its signature as soon as it is committed.
    spans?.note(id);
    afterCommit(tx, () => onCommitted(event.action));
    return { id, appended };
  }

  return {
    /**
     * Appends the audit entry of an event in the transaction of the action, at its end. Resolves
     * with the entry's id. Throws clock_skew, also if the clock of Postgres says a time that
     * differs by more than a minute: the sealer would refuse the entry.
     */
    async append(tx: Tx, event: AuditEvent): Promise<string> {
      const { id, appended } = send(tx, event);
      await appended;
      return id;
    },

    /**
     * Appends the entries of several events together with the commit, in the order of their
     * resources so that concurrent transactions do not deadlock. The transaction throws as `append`
     * does.
     */
    appendAll(tx: Tx, events: readonly AuditEvent[]): void {
      for (const event of events.toSorted(byResource)) commitWith(tx, send(tx, event).appended);
    },

    /**
     * Throws audit_backlog_full while too many entries of the owner, or of all owners, wait for
     * their signature. Without an owner, only the entries of all owners count. Throws clock_skew.
     */
    assertWritable(ownerId?: string): void {
      assertClock();
      if (isBacklogFull(ownerId)) {
        throw new AppError('audit_backlog_full', { retryAfterSeconds: 30 });
      }
    },
  };
}

/**
 * Throws clock_skew if the clocks differ, and database_unavailable if the log has no partition for
 * the entry.
 */
function explainFailure(error: unknown): never {
  if (hasState(error, clockState)) {
    throw new AppError('clock_skew', { retryAfterSeconds: 30, cause: error });
  }
  if (!lacksPartition(error, 'audit_log')) throw error;
  const cause = new Error('audit_log lacks the partition of this month: run verify-log');
  throw new AppError('database_unavailable', { retryAfterSeconds: 60, cause });
}

function byResource(a: AuditEvent, b: AuditEvent): number {
  const [first, second] = [resourceKey(a), resourceKey(b)];
  if (first === second) return 0;
  return first < second ? -1 : 1;
}

/** Returns the sort key of a resource: trails are locked in the order of these keys. */
export function resourceKey({ owner, resource }: Pick<AuditEvent, 'owner' | 'resource'>): string {
  return `${owner.userId} ${resource.type} ${resource.id} ${owner.tenantId}`;
}

interface NewRow {
  readonly id: string;
  readonly userId: string;
  readonly tenantId: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly action: string;
  /** The text of the entry before and after its sequence number. */
  readonly head: string;
  readonly tail: string;
  readonly at: Date;
}

/**
 * Inserts an entry under the next number of its resource. Numbers have no gaps: the trail with the
 * last one stays locked until the transaction ends, and a rollback reverts it.
 */
const insertEntry = compileOnce((row: NewRow, db) =>
  db
    .with('next', (cte) =>
      cte
        .insertInto('audit_trails')
        .values({
          user_id: row.userId,
          tenant_id: row.tenantId,
          resource_type: row.resourceType,
          resource_id: row.resourceId,
          last_seq: 1,
        })
        .onConflict((conflict) =>
          conflict
            .columns(['user_id', 'tenant_id', 'resource_type', 'resource_id'])
            .doUpdateSet({ last_seq: sql`audit_trails.last_seq + 1` }),
        )
        .returning(['id', 'last_seq']),
    )
    .insertInto('audit_log')
    .values(({ selectFrom }) => ({
      id: row.id,
      user_id: row.userId,
      tenant_id: row.tenantId,
      trail_id: selectFrom('next').select('next.id'),
      seq: selectFrom('next').select('last_seq'),
      action: row.action,
      canonical: selectFrom('next').select(
        sql<string>`entry_text(${row.head}, last_seq, ${row.tail}, ${row.at})`.as('canonical'),
      ),
    }))
    .compile(),
);

/** The members of an entry that no event names. */
interface Stamp {
  readonly id: string;
  readonly issuer: string;
  readonly at: Date;
}

/**
 * Returns the RFC 8785 text of an entry, to which the signer adds members, as the parts before and
 * after the value of `seq`: only the SQL statement that stores the entry determines that number.
 */
function textAroundSeq({ id, issuer, at }: Stamp, event: AuditEvent): [head: string, tail: string] {
  const entry: Omit<AuditEntry, 'seq'> = {
    v: 2,
    id,
    issuer,
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
  // Members are sorted by name, and `seq` is neither the first nor the last.
  const members = Object.entries(entry);
  const before = canonicalText(Object.fromEntries(members.filter(([name]) => name < 'seq')));
  const after = canonicalText(Object.fromEntries(members.filter(([name]) => name > 'seq')));
  return [`${before.slice(0, -1)},"seq":`, `,${after.slice(1)}`];
}
